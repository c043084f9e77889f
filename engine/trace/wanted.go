package trace

import (
	"fmt"
	"strings"
)

// The variables of OpenTelemetry that say whether there is to be a trace; the SDK
// reads the others.
const (
	disabledVariable       = "OTEL_SDK_DISABLED"
	exporterVariable       = "OTEL_TRACES_EXPORTER"
	endpointVariable       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesEndpointVariable = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	protocolVariable       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	tracesProtocolVariable = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	contentsVariable       = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
)

// Protocol is the one that spans are sent by.
const Protocol = "http/protobuf"

// Wanted says whether the environment asks for traces: it names an exporter, or
// where a collector is, and does not switch it off. The error is why what it asks
// for cannot be had.
func Wanted(env func(string) string) (bool, error) {
	if isTrue(env(disabledVariable)) {
		return false, nil
	}
	exporter := strings.TrimSpace(env(exporterVariable))
	switch exporter {
	case "none":
		return false, nil
	case "":
		if env(endpointVariable) == "" && env(tracesEndpointVariable) == "" {
			return false, nil
		}
	case "otlp":
	default:
		return false, fmt.Errorf("%s=%s: the only exporter is otlp", exporterVariable, exporter)
	}
	for _, variable := range []string{tracesProtocolVariable, protocolVariable} {
		switch protocol := strings.TrimSpace(env(variable)); protocol {
		case "":
			continue
		case Protocol:
			return true, nil
		default:
			return false, fmt.Errorf("%s=%s: the only protocol is %s, usually at port 4318", variable, protocol, Protocol)
		}
	}
	return true, nil
}

// Contents says whether the environment asks for what was sent and answered, too.
func Contents(env func(string) string) bool { return isTrue(env(contentsVariable)) }

func isTrue(value string) bool { return strings.EqualFold(strings.TrimSpace(value), "true") }
