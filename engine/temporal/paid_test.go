package temporal

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/agentbench/agentbench/engine/model/mockserver"
)

// metered is a model's server that counts the calls of each request, and leaves so many
// third calls of runs without an answer until it is let go.
type metered struct {
	*httptest.Server
	mu           sync.Mutex
	calls        map[string]int // by what is asked
	thirds, held int
	let          chan struct{}
}

var asked = regexp.MustCompile(`task [0-9]+, again: [0-9]+`)

// meter starts one that answers so many third calls, and holds as many.
func meter(t *testing.T, answers int) *metered {
	m := &metered{calls: map[string]int{}, let: make(chan struct{})}
	mock := mockserver.New(mockserver.Options{Rules: []mockserver.Rule{mockserver.Texts(`{"quality": 0.7}`)}})
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		what := asked.FindString(string(body))
		m.mu.Lock()
		m.calls[what]++
		hold := false
		if strings.HasSuffix(what, ": 2") {
			m.thirds++
			if hold = answers < m.thirds && m.thirds <= 2*answers; hold {
				m.held++
			}
		}
		m.mu.Unlock()
		if hold {
			<-m.let
		}
		mock.ServeHTTP(w, r)
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *metered) holds() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held
}

func (m *metered) all() (all int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.calls {
		all += n
	}
	return all
}

// A killed worker costs the calls that were in flight, each once more, and nothing else, where
// others find its answers: in the store, if that is a folder, or in its own folder on its
// machine. A bucket has no cache, so without that folder it costs all calls of the runs that
// it had begun. Runs whose records are stored are never paid again. The ledger has all of its calls, those after its
// last outcome as well.
func TestWhatAKilledWorkerCosts(t *testing.T) {
	const slots, runs, calls, budget = 4, 10, 3, 200
	for name, c := range map[string]struct {
		bucket, diskIsThere bool
		twice               int
	}{
		"a folder as store":              {false, false, slots},
		"a bucket, on the same machine":  {true, true, slots},
		"a bucket, and its disk is gone": {true, false, slots * calls},
	} {
		t.Run(name, func(t *testing.T) {
			if c.bucket && c.diskIsThere {
				onDemand(t)
			}
			m := meter(t, slots)
			files := scaleSuite(runs, "{provider: openai, name: mock, base_url: "+m.URL+"/v1, price: free}", slots)
			files["suite.yaml"] = strings.Replace(files["suite.yaml"], "max_iterations: 1", "max_iterations: "+strconv.Itoa(calls), 1) + fmt.Sprintf("budget: {calls: %d}\n", budget)
			s := newSite(t, false, files)
			if c.bucket {
				s.inBucket(s3(t))
			}
			s.startWorker(0, "--concurrency", strconv.Itoa(slots))
			c1 := s.elsewhere("there", "--attempts", "1000")
			var said safe
			c1.Stderr = &said
			if err := c1.Start(); err != nil {
				t.Fatal(err)
			}
			await(t, "every run in progress makes its last call", func() bool { return m.holds() == slots })
			_ = s.workers[0].Process.Kill()
			_ = s.workers[0].Wait()
			if !c.diskIsThere {
				if err := os.RemoveAll(filepath.Join(s.dir, "w0")); err != nil {
					t.Fatal(err)
				}
			}
			close(m.let)
			s.startWorker(0, "--concurrency", strconv.Itoa(slots))
			if err := c1.Wait(); err != nil {
				t.Fatalf("%v: %s", err, said.String())
			}
			if there := s.records("there", timeless); len(there) != runs {
				t.Errorf("%d of %d runs are there", len(there), runs)
			}
			twice, all := 0, 0
			for what, n := range m.calls {
				all += n
				if n > 2 {
					t.Errorf("%s was asked %d times", what, n)
				}
				twice += max(0, n-1)
			}
			if all != runs*calls+c.twice || twice != c.twice {
				t.Errorf("%d calls for %d, %d of them a second time; want %d", all, runs*calls, twice, c.twice)
			}
			l := s.ledger("there")
			if spent := l.Paid.Calls + l.Doubt.Calls; spent < int64(all) || spent > budget {
				t.Errorf("%d calls were made; of the budget of %d %d are paid and %d in doubt", all, budget, l.Paid.Calls, l.Doubt.Calls)
			}
			if !c.bucket { // the next attempt gets answers from the cache
				s.must(s.elsewhere("again"))
				if again := s.records("again", timeless); len(again) != runs || m.all() != all {
					t.Errorf("%d runs made again cost %d calls", len(again), m.all()-all)
				}
			}
			t.Logf("%d calls for %d, %d of them a second time", all, runs*calls, twice)
		})
	}
}
