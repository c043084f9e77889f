package scorers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// isHTML holds where the text is HTML whose elements are closed, each within the one that it stands in. Where HTML lets
// end tags out (p, li, td and the like) they may be left out; elements that hold nothing (br, img) need none. There has
// to be an element. Which element may stand where, and what attributes mean, is not looked at: browsers take all of it.
func isHTML(*compiler) comparison {
	return func(_ context.Context, s *subject) verdict {
		written := text(s.value)
		if err := searchable(written); err != nil {
			return unscored("%v", err)
		}
		if err := closed(written); err != nil {
			return verdict{explanation: short(err.Error(), maxAnswer)}
		}
		return verdict{value: 1}
	}
}

var (
	// voidElements hold nothing and have no end tag.
	voidElements = strings.Fields("area base br col embed hr img input link meta param source track wbr")
	// openElements are those whose end tag may be left out.
	openElements = strings.Fields("html head body p li dt dd option optgroup tr td th thead tbody tfoot caption colgroup rb rt rtc rp")
	// foreignElements are those within which a slash closes an element, as in XML.
	foreignElements = []string{"svg", "math"}
)

func closed(text string) error {
	z := html.NewTokenizer(strings.NewReader(text))
	var open htmlOpen
	for {
		kind := z.Next()
		raw := string(z.Raw())
		switch token := z.Token(); kind {
		case html.ErrorToken:
			if strings.HasPrefix(raw, "<") {
				return errors.New("it ends within a tag")
			}
			return open.end()
		case html.StartTagToken:
			open.start(token.Data)
		case html.SelfClosingTagToken:
			if !open.foreign(token.Data) {
				open.start(token.Data)
			}
			open.any = true
		case html.EndTagToken:
			if err := open.close(token.Data); err != nil {
				return err
			}
		}
	}
}

// htmlOpen are the elements that are open, the innermost last.
type htmlOpen struct {
	elements []string
	within   int  // how many of them are foreign
	any      bool // there was an element
}

func (o *htmlOpen) start(name string) {
	o.any = true
	if slices.Contains(voidElements, name) {
		return
	}
	o.elements = append(o.elements, name)
	if slices.Contains(foreignElements, name) {
		o.within++
	}
}

// foreign says that a slash closes the element.
func (o *htmlOpen) foreign(name string) bool {
	return o.within > 0 || slices.Contains(foreignElements, name)
}

func (o *htmlOpen) close(name string) error {
	for i, inner := range slices.Backward(o.elements) {
		switch {
		case inner == name:
			o.elements = o.elements[:i]
			if slices.Contains(foreignElements, name) {
				o.within--
			}
			return nil
		case !slices.Contains(openElements, inner):
			return fmt.Errorf("<%s> is not closed before </%s>", inner, name)
		}
	}
	return fmt.Errorf("</%s> closes nothing that is open", name)
}

func (o *htmlOpen) end() error {
	for _, name := range slices.Backward(o.elements) {
		if !slices.Contains(openElements, name) {
			return fmt.Errorf("<%s> is not closed", name)
		}
	}
	if !o.any {
		return errors.New("there is no element in it")
	}
	return nil
}
