package secret

import "unicode/utf8"

// longestWord bounds how much a prefix is shortened for the sake of a word.
const longestWord = 256

// Prefix is the beginning of a text, at most so many bytes. It does not end
// within a word, for that could be half a secret, which nobody would know.
func Prefix(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	word := end
	for word > 0 && end-word < longestWord && inWord(text[word-1]) && inWord(text[word]) {
		word--
	}
	if end-word == longestWord || word == 0 {
		return text[:end]
	}
	return text[:word]
}

// inWord says whether a secret may hold the character, escaped or not.
func inWord(c byte) bool { return inToken[c] || c == '%' }
