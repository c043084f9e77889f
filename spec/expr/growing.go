package expr

import (
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// maxText is how many bytes a text within an evaluation may have. The meter charges a text after it was made; what
// makes one that is much longer than all it was given has to look before.
const maxText = 64 << 20

const textGrows = "a text grows beyond 64 MiB"

// growingFunctions stand in for those of cel-go whose result can be as long as the product of what they are given:
// replace('a', text) of 10 KB makes 100 MB, and once more a TB.
func growingFunctions() []cel.EnvOption {
	text, texts := cel.StringType, cel.ListType(cel.StringType)
	return []cel.EnvOption{
		cel.Function("replace",
			cel.MemberOverload("string_replace_string_string", []*cel.Type{text, text, text}, text, cel.FunctionBinding(replaceText)),
			cel.MemberOverload("string_replace_string_string_int", []*cel.Type{text, text, text, cel.IntType}, text, cel.FunctionBinding(replaceText))),
		cel.Function("join",
			cel.MemberOverload("list_join", []*cel.Type{texts}, text, cel.UnaryBinding(func(list ref.Val) ref.Val { return joinTexts(list, types.String("")) })),
			cel.MemberOverload("list_join_string", []*cel.Type{texts, text}, text, cel.BinaryBinding(joinTexts))),
	}
}

// replaceText takes a text, what to replace, by what, and how often at most.
func replaceText(args ...ref.Val) ref.Val {
	text, old, by := string(args[0].(types.String)), string(args[1].(types.String)), string(args[2].(types.String))
	times := strings.Count(text, old)
	if len(args) > 3 {
		if most := int64(args[3].(types.Int)); most >= 0 && most < int64(times) {
			times = int(most)
		}
	}
	if grown := len(by) - len(old); grown > 0 && times > (maxText-min(len(text), maxText))/grown {
		return types.NewErr(textGrows)
	}
	return types.String(strings.Replace(text, old, by, times))
}

func joinTexts(list, separator ref.Val) ref.Val {
	between := string(separator.(types.String))
	var texts []string
	size := 0
	for it := list.(traits.Lister).Iterator(); it.HasNext() == types.True; {
		element := it.Next()
		text, ok := element.(types.String)
		if !ok {
			return types.NewErr("join: invalid input: %v", element)
		}
		if size += len(text) + len(between); size-len(between) > maxText {
			return types.NewErr(textGrows)
		}
		texts = append(texts, string(text))
	}
	return types.String(strings.Join(texts, between))
}
