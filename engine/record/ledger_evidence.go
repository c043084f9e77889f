package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
)

// Evidence is what the records and scores of a folder prove of what was spent,
// where its ledger does not tell.
type Evidence struct {
	// Paid is what answered calls used, and what scores took.
	Paid Usage
	// Unsent counts by model the attempts that reached no server. Of a call that was
	// tried several times the last attempt is known, and no other.
	Unsent map[string]int64
}

// EvidenceOf reads the records and scores of a folder.
func EvidenceOf(dir string) (Evidence, error) {
	found := Evidence{Unsent: map[string]int64{}}
	err := visit(dir, recordsFile, func(o *object, err error) error {
		var run struct {
			Iterations []struct{ Calls []Call }
		}
		if err != nil || json.Unmarshal(o.json, &run) != nil {
			return nil // damage is told by those who need the runs
		}
		for i := range run.Iterations {
			for c := range run.Iterations[i].Calls {
				found.add(&run.Iterations[i].Calls[c])
			}
		}
		return nil
	})
	scored := visit(dir, scoresFile, func(o *object, err error) error {
		var line struct{ Scores []struct{ Usage Usage } }
		if err != nil || json.Unmarshal(o.json, &line) != nil {
			return nil
		}
		for i := range line.Scores {
			found.Paid = found.Paid.Plus(line.Scores[i].Usage)
		}
		return nil
	})
	if err := errors.Join(err, scored); err != nil {
		return found, fmt.Errorf("looking for what was paid: %w", err)
	}
	return found, nil
}

func (e *Evidence) add(c *Call) {
	switch {
	case c.Cached:
	case c.Error == nil:
		e.Paid = e.Paid.Plus(c.Usage)
	case c.Unsent > 0:
		e.Unsent[c.Model] += int64(c.Unsent)
	case c.Error.Class == Network && unsentMessage.MatchString(c.Error.Message):
		e.Unsent[c.Model]++
	}
}

// unsentMessage is what the errors of net/http begin with that come before the first
// byte of a request. Records of earlier versions have nothing but these words; what
// a server says never stands there.
var unsentMessage = regexp.MustCompile(`^Post "[^"]*": (proxyconnect tcp: )?(dial tcp|tls: failed to verify certificate|tls: first record does not look like|net/http: TLS handshake timeout|http: server gave HTTP response to HTTPS client)`)
