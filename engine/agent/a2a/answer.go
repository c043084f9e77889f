package a2a

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/a2a"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/spec"
)

// Answer is what a remote agent made of a task.
type Answer struct {
	State   a2a.TaskState     // completed for a message
	Text    string            // all of it as text, with data as JSON
	Data    []json.RawMessage // the parts that are data
	Prose   bool              // there are parts that are not
	Context string            // the conversation, "" where the agent has none
}

func messageAnswer(m *a2a.Message) Answer {
	a := Answer{State: a2a.TaskStateCompleted, Context: m.ContextID}
	a.Text = a.read(m.Parts)
	return a
}

// taskAnswer is what a task made; of one that made nothing, the message of
// its state, and without one the agent's last message.
func taskAnswer(t *a2a.Task) Answer {
	a := Answer{State: t.Status.State, Context: t.ContextID}
	if a.State == a2a.TaskStateCompleted {
		var texts []string // of very many artifacts, perhaps
		for _, artifact := range t.Artifacts {
			if artifact == nil {
				continue
			}
			if text := a.read(artifact.Parts); text != "" {
				texts = append(texts, text)
			}
		}
		a.Text = strings.Join(texts, "\n\n")
	}
	if a.Text == "" && t.Status.Message != nil {
		a.Text = a.read(t.Status.Message.Parts)
	}
	if a.Text == "" {
		for _, message := range slices.Backward(t.History) {
			if message != nil && message.Role == a2a.MessageRoleAgent {
				a.Text = a.read(message.Parts)
				break
			}
		}
	}
	return a
}

// read is an artifact or a message as text: its texts as they stand, for they may
// be pieces of one, data and files on lines of their own.
func (a *Answer) read(parts a2a.ContentParts) string {
	var b strings.Builder
	before := true // the part before has a line of its own
	for _, p := range parts {
		text, line := "", true
		switch p := p.(type) {
		case a2a.TextPart:
			text, line, a.Prose = p.Text, false, true
		case a2a.DataPart:
			text = dataText(p.Data)
			a.Data = append(a.Data, json.RawMessage(text))
		case a2a.FilePart:
			text, a.Prose = fileText(p.File), true
		}
		if b.Len() > 0 && (line || before) && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(text)
		before = line
	}
	return b.String()
}

// dataText is data as compact JSON.
func dataText(data map[string]any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(data) // it was read as JSON
	return strings.TrimSpace(b.String())
}

// fileText tells of a file, whose contents are not for a text.
func fileText(file a2a.FilePartContent) string {
	switch file := file.(type) {
	case a2a.FileURI:
		return strings.TrimSpace("[file " + file.Name + " " + file.URI + "]")
	case a2a.FileBytes:
		return fmt.Sprintf("[file %s, %d bytes]", file.Name, len(file.Bytes)/4*3)
	}
	return "[file]"
}

// Asks reports whether the answer is a question.
func (a *Answer) Asks() bool { return a.State == a2a.TaskStateInputRequired }

// failure is the error of a task that ended without an answer.
func (a *Answer) failure() error {
	because := ""
	if a.Text != "" {
		because = ": " + secret.Shorten(a.Text, 500)
	}
	switch a.State {
	case a2a.TaskStateFailed:
		return record.Errorf(record.Program, "the remote agent failed%s", because)
	case a2a.TaskStateRejected:
		return record.Errorf(record.Program, "the remote agent rejected the task%s", because)
	case a2a.TaskStateCanceled:
		return record.Errorf(record.Incomplete, "the remote agent's task was cancelled%s", because)
	case a2a.TaskStateAuthRequired:
		return record.Errorf(record.Auth, "the remote agent wants to know who asks%s", because)
	}
	return nil
}

// reply is the text of an answer; where it is to be JSON and one part of it is
// data, that is.
func (a *Answer) reply(want spec.Reply) string {
	if want == spec.ReplyJSON && len(a.Data) == 1 {
		return string(a.Data[0])
	}
	return a.Text
}

// content is data where the answer is nothing else, and text otherwise.
func (a *Answer) content() json.RawMessage {
	if len(a.Data) == 1 && !a.Prose {
		return a.Data[0]
	}
	return tool.Text(a.Text)
}
