package a2a

// wire is a version of the protocol, as it is spoken over JSON-RPC.
type wire string

// The wires. Until 0.3 methods have the names of resources, and parts and results
// say of what kind they are; since 1.0 the wire is that of protobuf's JSON.
const (
	wire03 wire = "0.3"
	wire10 wire = "1.0"
)

func (w wire) send() string {
	if w == wire10 {
		return "SendMessage"
	}
	return "message/send"
}

func (w wire) get() string {
	if w == wire10 {
		return "GetTask"
	}
	return "tasks/get"
}

func (w wire) cancel() string {
	if w == wire10 {
		return "CancelTask"
	}
	return "tasks/cancel"
}

// accepted are the kinds of output that can be used.
var accepted = []string{"text/plain", "application/json"}

// message is the parameter of send. The agent is asked to answer at once, with a
// task that is asked after: only a task that is known can be cancelled, and long
// answers do not outlive what lies between.
func (w wire) message(text, conversation, id string) map[string]any {
	message := map[string]any{"messageId": id}
	configuration := map[string]any{"acceptedOutputModes": accepted}
	if conversation != "" {
		message["contextId"] = conversation
	}
	if w == wire10 {
		message["role"] = "ROLE_USER"
		message["parts"] = []any{map[string]any{"text": text}}
		configuration["returnImmediately"] = true
	} else {
		message["kind"], message["role"] = "message", "user"
		message["parts"] = []any{map[string]any{"kind": "text", "text": text}}
		configuration["blocking"] = false
	}
	return map[string]any{"message": message, "configuration": configuration}
}
