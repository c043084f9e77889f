package record

func appendString(dst []byte, s string) []byte { return append(append(append(dst, '"'), s...), '"') }
