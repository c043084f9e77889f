package spec

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	logical "github.com/parquet-go/parquet-go/format"

	"github.com/agentbench/agentbench/spec/expr"
)

// rowsAtOnce are read together.
const rowsAtOnce = 64

// parquetRows are the rows of a .parquet file. After an error there are no more.
func (f *dataFile) parquetRows(yield func(row, error) bool) {
	opened, reader, err := f.openParquet()
	if err != nil {
		yield(row{}, err)
		return
	}
	defer func() { _ = errors.Join(f.guarded(reader.Close), opened.Close()) }() // only read
	rows := make([]parquet.Row, rowsAtOnce)
	for n := 1; err == nil; {
		var values []any
		err = f.guarded(func() error {
			count, err := reader.ReadRows(rows)
			for _, r := range rows[:count] {
				columns := make([][]parquet.Value, 0, 8)
				r.Range(func(_ int, values []parquet.Value) bool {
					columns = append(columns, values)
					return true
				})
				values = append(values, groupOf(reader.Schema(), &columns, 0, 0))
			}
			return err
		})
		for _, value := range values {
			if !yield(row{dataFile: f, value: value, n: n}, nil) {
				return
			}
			n++
		}
	}
	if !errors.Is(err, io.EOF) {
		yield(row{}, err)
	}
}

// openParquet opens the file, and reads what it says of itself. It may unpack to 100 times its size and 64 MiB.
func (f *dataFile) openParquet() (opened fs.File, reader *parquet.GenericReader[any], err error) {
	if f.packed {
		return nil, nil, &fileError{f.name + " is packed", "unpack it: a Parquet file is packed inside"}
	}
	if opened, err = f.folder.open(f.path, 0); err != nil {
		return nil, nil, err
	}
	err = f.guarded(func() error {
		info, err := opened.Stat()
		text, ok := opened.(io.ReaderAt)
		if err != nil || !ok {
			return errors.Join(err, errors.New("it cannot be read in any order"))
		}
		file, err := parquet.OpenFile(text, info.Size(), parquet.SkipBloomFilters(true))
		if err != nil {
			return fmt.Errorf("%s", strings.TrimSuffix(err.Error(), ": EOF")) // an end here is no end of the rows
		}
		var unpacked int64
		for _, group := range file.Metadata().RowGroups {
			unpacked += group.TotalByteSize
		}
		if unpacked > 64<<20+100*info.Size() {
			return errors.New("it unpacks to more than 100 times its size")
		}
		reader = parquet.NewGenericReader[any](file, file.Schema())
		return nil
	})
	if err != nil {
		opened.Close()
	}
	return opened, reader, err
}

// guarded explains an error of the library, which panics over some files that are damaged.
func (f *dataFile) guarded(read func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%v", cause)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			err = &fileError{fmt.Sprintf("%s is not a whole Parquet file: %v", f.name, err), "get it anew, or write it where it is not cut off"}
		}
	}()
	return read()
}

// What a row holds is put together as Dremel describes: every leaf of the schema has its values in a column, each
// with the level down to which its path is there (definition) and the level of the list of which it begins a new
// element (repetition).

// groupOf takes the values of a group's fields off the columns.
func groupOf(group parquet.Node, columns *[][]parquet.Value, repetition, definition int) *expr.Object {
	fields := group.Fields()
	object := expr.NewObject(len(fields))
	for _, field := range fields {
		object.Set(field.Name(), valueAt(field, columns, repetition, definition))
	}
	return object
}

// valueAt takes the value of a node off the columns of its leaves, which are the first ones.
func valueAt(node parquet.Node, columns *[][]parquet.Value, repetition, definition int) any {
	if node.Repeated() {
		return listOf(node, columns, repetition+1, definition+1)
	}
	if node.Optional() {
		if definition++; !reaches(*columns, definition) {
			*columns = (*columns)[leaves(node):]
			return nil
		}
	}
	if node.Leaf() {
		value := (*columns)[0][0]
		*columns = (*columns)[1:]
		return leafOf(node.Type(), value)
	}
	if kind := node.Type().LogicalType(); kind != nil {
		switch kind.Value.(type) {
		case *logical.ListType:
			if inner, ok := elements(node); ok {
				return unwrapped(valueAt(inner, columns, repetition, definition))
			}
		case *logical.MapType:
			if inner, ok := elements(node); ok {
				return dictionary(valueAt(inner, columns, repetition, definition))
			}
		}
	}
	return groupOf(node, columns, repetition, definition)
}

// elements is the repeated group within a list or a map.
func elements(node parquet.Node) (parquet.Node, bool) {
	fields := node.Fields()
	return fields[0], len(fields) == 1 && fields[0].Repeated()
}

// unwrapped is a list without the group of one field that Parquet puts around each element.
func unwrapped(list any) any {
	items, _ := list.([]any)
	for i, item := range items {
		if object, ok := item.(*expr.Object); ok && object.Len() == 1 {
			_, items[i] = object.At(0)
		}
	}
	return list
}

// dictionary is an object of a list of keys and values.
func dictionary(list any) any {
	items, _ := list.([]any)
	object := expr.NewObject(len(items))
	for _, item := range items {
		if pair, ok := item.(*expr.Object); ok && pair.Len() == 2 {
			_, key := pair.At(0)
			_, value := pair.At(1)
			object.Set(fmt.Sprint(key), value)
		}
	}
	return object
}

// listOf takes the elements of a repeated node off the columns.
func listOf(node parquet.Node, columns *[][]parquet.Value, repetition, definition int) any {
	n := leaves(node)
	of := (*columns)[:n]
	*columns = (*columns)[n:]
	items := []any{}
	if !reaches(of, definition) {
		return items
	}
	rest := make([][]parquet.Value, n)
	copy(rest, of)
	for len(rest[0]) > 0 {
		element := make([][]parquet.Value, n)
		for i, values := range rest {
			end := 1
			for end < len(values) && values[end].RepetitionLevel() > repetition {
				end++
			}
			element[i], rest[i] = values[:end], values[end:]
		}
		if node.Leaf() {
			items = append(items, leafOf(node.Type(), element[0][0]))
		} else {
			items = append(items, groupOf(node, &element, repetition, definition))
		}
	}
	return items
}

// reaches reports whether the path is there down to a level.
func reaches(columns [][]parquet.Value, definition int) bool {
	return len(columns) > 0 && len(columns[0]) > 0 && columns[0][0].DefinitionLevel() >= definition
}

// leaves is how many columns a node has.
func leaves(node parquet.Node) int {
	if node.Leaf() {
		return 1
	}
	n := 0
	for _, field := range node.Fields() {
		n += leaves(field)
	}
	return n
}

// leafOf is a value as expressions have it: null, true or false, a number or a text. Times and days are texts as in
// RFC 3339, whole numbers that a number of expressions cannot hold (above 2^53) are texts, and bytes that are no text are base64.
func leafOf(of parquet.Type, v parquet.Value) any {
	if v.IsNull() {
		return nil
	}
	if kind := of.LogicalType(); kind != nil {
		if value, ok := logicalOf(kind.Value, v); ok {
			return value
		}
	}
	switch v.Kind() {
	case parquet.Boolean:
		return v.Boolean()
	case parquet.Int32:
		return float64(v.Int32())
	case parquet.Int64:
		return wholeNumber(v.Int64())
	case parquet.Int96:
		return v.String()
	case parquet.Float:
		return finite(float64(v.Float()))
	case parquet.Double:
		return finite(v.Double())
	}
	if text := v.ByteArray(); utf8.Valid(text) {
		return string(text)
	}
	return base64.StdEncoding.EncodeToString(v.ByteArray())
}

// finite is the number, null for NaN, as other writers mark what is missing, and a text where it is infinite: JSON has
// no other words for them.
func finite(n float64) any {
	switch {
	case math.IsNaN(n):
		return nil
	case math.IsInf(n, 0):
		return strconv.FormatFloat(n, 'g', -1, 64)
	}
	return n
}

func wholeNumber(n int64) any {
	if float := float64(n); int64(float) == n && max(n, -n) <= 1<<53 {
		return float
	}
	return strconv.FormatInt(n, 10)
}

func logicalOf(kind logical.LogicalTypeValue, v parquet.Value) (any, bool) {
	switch l := kind.(type) {
	case *logical.DateType:
		return time.Unix(int64(v.Int32())*24*60*60, 0).UTC().Format(time.DateOnly), true
	case *logical.TimestampType:
		return timeOf(l, v.Int64()).Format(time.RFC3339Nano), true
	case *logical.DecimalType:
		unscaled := new(big.Int)
		switch v.Kind() {
		case parquet.Int32:
			unscaled.SetInt64(int64(v.Int32()))
		case parquet.Int64:
			unscaled.SetInt64(v.Int64())
		default:
			unscaled = signed(v.ByteArray())
		}
		power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(l.Scale)), nil)
		value, _ := new(big.Rat).SetFrac(unscaled, power).Float64()
		return value, true
	case *logical.IntType:
		if !l.IsSigned && v.Kind() == parquet.Int32 {
			return float64(v.Uint32()), true
		}
		if n := v.Int64(); !l.IsSigned && v.Kind() == parquet.Int64 && n < 0 {
			return strconv.FormatUint(v.Uint64(), 10), true // more than a number of expressions holds
		}
	case *logical.UUIDType:
		if b := v.ByteArray(); len(b) == 16 {
			return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), true
		}
	}
	return nil, false
}

// signed reads a big-endian number in two's complement.
func signed(b []byte) *big.Int {
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}

func timeOf(l *logical.TimestampType, n int64) time.Time {
	switch l.Unit.Value.(type) {
	case *logical.MilliSeconds:
		return time.UnixMilli(n).UTC()
	case *logical.MicroSeconds:
		return time.UnixMicro(n).UTC()
	}
	return time.Unix(0, n).UTC()
}
