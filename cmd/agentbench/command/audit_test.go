package command

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/exit"
)

// The audit of the advice: random simulated suites are tuned through the command, and
// what is recommended is tried on tasks that nobody recorded, drawn from the
// simulator's own distributions. In full it takes AGENTBENCH_AUDIT=500; the short form,
// four small suites in a row, is a part of every test run.
const (
	shortAudit, shortFrom = 4, 4
	// freshTasks is how many tasks the truth is computed on.
	freshTasks = 100_000
	// mostCalls is the loosest max_iterations that is tried.
	mostCalls = 8
)

// auditSuite is a random suite.
type auditSuite struct {
	seed           uint64
	tasks, trials  int
	models         []auditModel // one for each path
	order          []int        // in which the suite names them
	iterations     []int
	thresholds     []float64
	patiences      []string
	today          auditLimits
	rule           string
	maxLoss, share float64
}

// auditModel is a simulated model: see offline.Simulated.
type auditModel struct{ start, limit, rate, spread, noise float64 }

// auditLimits are a configuration; a patience of 0 is off.
type auditLimits struct {
	model, iterations, patience int
	threshold                   float64
}

func newAuditSuite(seed uint64) *auditSuite {
	r := rand.New(rand.NewPCG(seed, 14))
	between := func(low, high float64) float64 { return math.Round(1e3*(low+(high-low)*r.Float64())) / 1e3 }
	pick := func(n int, of ...int) []int {
		r.Shuffle(len(of), func(i, k int) { of[i], of[k] = of[k], of[i] })
		return of[:n]
	}
	s := &auditSuite{seed: seed, tasks: 30 + r.IntN(271), trials: 1 + r.IntN(5)}
	paths := []int{1, 1, 1, 2, 3, 4, 6, 9}[r.IntN(8)]
	for p := range paths {
		start := between(0.3, 0.7)
		s.models = append(s.models, auditModel{start, min(0.97, start+between(0.05, 0.45)), between(0.2, 0.8), between(0.02, 0.2), between(0.01, 0.08)})
		s.order = append(s.order, p)
	}
	r.Shuffle(paths, func(i, k int) { s.order[i], s.order[k] = s.order[k], s.order[i] })
	s.iterations = append(pick(3, 1, 2, 3, 4, 5, 6), mostCalls)
	for _, i := range pick(4, 50, 60, 70, 75, 80, 85, 90, 95, 100) {
		s.thresholds = append(s.thresholds, float64(i)/100)
	}
	for _, i := range pick(2, 1, 2, 3, 4) {
		s.patiences = append(s.patiences, strconv.Itoa(i))
	}
	s.patiences = append(s.patiences, "off")
	s.today = auditLimits{model: s.order[0], iterations: 1 + r.IntN(6), threshold: s.thresholds[r.IntN(4)]}
	if r.IntN(3) == 0 { // a value that is not among those that are tried
		s.today.threshold = 0.65
	}
	if r.IntN(10) < 7 {
		s.rule, s.maxLoss = "max_loss", []float64{0.02, 0.05, 0.1}[r.IntN(3)]
	} else {
		s.rule, s.share = "at_least", []float64{0.9, 0.95, 0.98}[r.IntN(3)]
	}
	return s
}

// yaml is the suite with the paths in some order.
func (s *auditSuite) yaml(order []int) string {
	var models, names strings.Builder
	for _, p := range order {
		m := &s.models[p]
		fmt.Fprintf(&models, "  m%d: {provider: simulate, quality: {start: %v, limit: %v, rate: %v, spread: %v, noise: %v}, reply: '{\"answer\": {{ answer }}, \"confidence\": {{ confidence }}}', latency: {median: 1s, sigma: 0.3}, tokens: {input: 200, output: 80, spread: 0.2}, price: {input: 0.5, output: 2.0}}\n",
			p, m.start, m.limit, m.rate, m.spread, m.noise)
		fmt.Fprintf(&names, "%sm%d", map[bool]string{true: "", false: ", "}[names.Len() == 0], p)
	}
	choose := "{rule: " + s.rule
	switch s.rule {
	case "max_loss":
		choose += fmt.Sprintf(", max_loss: %v", s.maxLoss)
	case "at_least":
		choose += fmt.Sprintf(", share: %v", s.share)
	}
	parameters := fmt.Sprintf("terminate.max_iterations: %s, terminate.confidence.threshold: %s, terminate.no_improvement.patience: [%s]",
		strings.ReplaceAll(fmt.Sprint(s.iterations), " ", ", "), strings.ReplaceAll(fmt.Sprint(s.thresholds), " ", ", "), strings.Join(s.patiences, ", "))
	if len(order) > 1 {
		parameters = "agent.model: [" + names.String() + "], " + parameters
	}
	return fmt.Sprintf("suite: audit\ntasks: tasks.jsonl\nmodels:\n%sconfigurations: [{name: default, loop: answer.loop.yaml}]\nscorers: [{name: right, type: numeric, value: output.answer}]\ntrials: %d\nseed: %d\nconcurrency: 4\ntune:\n  parameters: {%s}\n  choose: %s}\n",
		models.String(), s.trials, s.seed, parameters, choose)
}

func (s *auditSuite) loop() string {
	return fmt.Sprintf(`loop: answer
pattern: confidence
agent: {model: m%d, reply: json, max_output_tokens: 200}
prompt: "{{ task.input }}{{ iteration == 0 ? '' : ' Not ' + string(output.answer) }}"
evaluate: {confidence: double(output.confidence)}
terminate: {confidence: {threshold: %v}, max_iterations: %d}
`, s.today.model, s.today.threshold, s.today.iterations)
}

// auditTrial is a fresh task under one model: what each call would give.
type auditTrial struct {
	confidence [mostCalls]float64
	right      [mostCalls]bool
}

// fresh draws trials as offline.Simulated does.
func (m *auditModel) fresh(r *rand.Rand, ease []float64) []auditTrial {
	clamp := func(x float64) float64 { return math.Round(max(0, min(1, x))*1e4) / 1e4 }
	all := make([]auditTrial, len(ease))
	for i := range all {
		luck := r.Float64()
		for c := range mostCalls {
			mean := m.start + (m.limit-m.start)*(1-math.Pow(1-m.rate, float64(c))) + m.spread*ease[i]
			quality := clamp(mean + m.noise*r.NormFloat64())
			all[i].confidence[c], all[i].right[c] = clamp(quality+m.noise*r.NormFloat64()), luck < quality
		}
	}
	return all
}

// stopped is what a trial gives under limits, and after how many calls.
func (t *auditTrial) stopped(l *auditLimits) (right bool, calls int) {
	best, without := -1, 0
	for c := range l.iterations {
		without++
		if best < 0 || t.confidence[c] > t.confidence[best] {
			best, without = c, 0
		}
		calls = c + 1
		if t.confidence[c] >= l.threshold || l.patience > 0 && without >= l.patience {
			break
		}
	}
	return t.right[best], calls
}

// auditTruth is what limits are worth on fresh tasks: the share that is right, the
// mean calls, and, against a reference, the share of trials that lose their success
// and the fall of the mean.
type auditTruth struct{ right, calls, lost, fell float64 }

func truthOf(fresh [][]auditTrial, l, reference *auditLimits) (t auditTruth) {
	n := float64(len(fresh[l.model]))
	for i := range fresh[l.model] {
		right, calls := fresh[l.model][i].stopped(l)
		was, _ := fresh[reference.model][i].stopped(reference)
		t.right += float64(count01(right)) / n
		t.calls += float64(calls) / n
		t.lost += float64(count01(was && !right)) / n
		t.fell += float64(count01(was)-count01(right)) / n
	}
	return t
}

// auditPage is what is read of the JSON of tune.
type auditPage struct {
	Reference   string
	Recommended *auditRow
	Bound       *struct {
		Most *float64
		Net  bool
	}
	Changes []struct{ Path, From, To string }
	Front   []auditRow
	All     []auditRow
	WhyNone string                `json:"why_none"`
	Guess   struct{ Name string } `json:"best_guess"`
}

type auditRow struct {
	Name   string
	Params []struct {
		Path  string
		Value any
	}
	Objective   *float64
	Most        *float64 `json:"lost_most"`
	Cost        *float64 `json:"choice_cost"`
	Counted     json.RawMessage
	Within      bool
	Recommended bool
}

// limits are the configuration of a row.
func (r *auditRow) limits(s *auditSuite) (l auditLimits) {
	l = s.today
	for _, p := range r.Params {
		switch p.Path {
		case "agent.model":
			l.model, _ = strconv.Atoi(strings.TrimPrefix(p.Value.(string), "m"))
		case "terminate.max_iterations":
			l.iterations = int(p.Value.(float64))
		case "terminate.confidence.threshold":
			l.threshold = p.Value.(float64)
		case "terminate.no_improvement.patience":
			patience, _ := p.Value.(float64)
			l.patience = int(patience)
		}
	}
	return l
}

// reference is the recorded configuration of that name: the loosest limits of a path.
func (s *auditSuite) reference(name string) *auditLimits {
	l := &auditLimits{model: s.today.model, iterations: mostCalls, threshold: max(s.today.threshold, slices.Max(s.thresholds))}
	for p := range s.models {
		if strings.HasSuffix(name, fmt.Sprintf("m%d", p)) || strings.Contains(name, fmt.Sprintf("m%d,", p)) {
			l.model = p
		}
	}
	return l
}

// audit is the sum over suites.
type audit struct {
	suites, recommended, exceeded, exceededAllowed, dominated, idle int
	could, couldNow, couldBefore, before, cheaper                   int
	z                                                               []float64
}

func TestAudit(t *testing.T) {
	t.Parallel()
	n, from := shortAudit, uint64(shortFrom)
	if text := os.Getenv("AGENTBENCH_AUDIT"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		from = 1
	} else {
		skipLong(t)
	}
	if text := os.Getenv("AGENTBENCH_AUDIT_FROM"); text != "" {
		from, _ = strconv.ParseUint(text, 10, 64)
	}
	began := time.Now()
	a := &audit{}
	for i := range n {
		a.add(t, from+uint64(i))
	}
	t.Logf("%d suites in %v: %d recommendations (before: %d), of which %d lose more than the stated bound and %d more than the allowed loss, %d are dominated, %d change what has no effect; in %d suites a configuration 10%% cheaper loses at most half of max_loss: %d get a recommendation, %d by single bounds; %d recommendations are at least 10%% cheaper than the reference",
		a.suites, time.Since(began).Round(time.Second), a.recommended, a.before, a.exceeded, a.exceededAllowed, a.dominated, a.idle, a.could, a.couldNow, a.couldBefore, a.cheaper)
	if a.dominated > 0 || a.idle > 0 {
		t.Errorf("%d recommendations are dominated on their own page, %d change what changes no run", a.dominated, a.idle)
	}
	// At most the upper limit of a rate of 5 %: 33 of 500.
	if most := math.Floor(0.05*float64(n) + 1.645*math.Sqrt(0.05*0.95*float64(n))); float64(a.exceeded) > most {
		t.Errorf("%d of %d suites lose more than the stated bound, want at most %.0f", a.exceeded, n, most)
	}
	if n >= 100 && float64(a.couldNow) < float64(a.couldBefore)-0.1*float64(a.could) {
		t.Errorf("%d of %d suites that could get a recommendation do, %d did by single bounds", a.couldNow, a.could, a.couldBefore)
	}
	var sum float64
	for _, z := range a.z {
		sum += z
	}
	if z := sum / math.Sqrt(float64(len(a.z))); math.Abs(z) > 4 {
		t.Errorf("the truth is not that of the simulator: recorded scores lie %.1f standard errors off", z)
	}
}

// add audits one suite.
func (a *audit) add(t *testing.T, seed uint64) {
	s := newAuditSuite(seed)
	dir := liveFolder(t, s.yaml(s.order), s.tasks)
	if err := os.WriteFile(filepath.Join(dir, "answer.loop.yaml"), []byte(s.loop()), 0o644); err != nil {
		t.Fatal(err)
	}
	page := auditTuned(t, "tune", filepath.Join(dir, "suite.yaml"), "--out", filepath.Join(dir, "r"), "--quiet", "--format", "json", "--table", "all")
	again := auditTuned(t, "tune", filepath.Join(dir, "r"), "--suite", filepath.Join(dir, "suite.yaml"), "--format", "json", "--table", "all")
	if !samePage(page, again) {
		t.Errorf("suite %d: tune DIR says %s, tune SUITE said %s", seed, auditAnswer(again), auditAnswer(page))
	}
	if seed%4 == 0 {
		a.permuted(t, s, page)
	}
	a.suites++
	r := rand.New(rand.NewPCG(seed, 15))
	ease := make([]float64, freshTasks)
	for i := range ease {
		ease[i] = r.NormFloat64()
	}
	fresh := make([][]auditTrial, len(s.models))
	for p := range s.models {
		fresh[p] = s.models[p].fresh(r, ease)
	}
	reference := s.reference(page.Reference)
	could := s.power(page, fresh, reference)
	a.could += count01(could)
	before := false
	for i := range page.All {
		before = before || s.rule == "max_loss" && page.All[i].Within && page.All[i].Most != nil && *page.All[i].Most <= s.maxLoss
	}
	if old := os.Getenv("AGENTBENCH_AUDIT_BEFORE"); old != "" {
		before = exec.Command(old, "tune", filepath.Join(dir, "r"), "--suite", filepath.Join(dir, "suite.yaml"), "--format", "json").Run() == nil
	}
	a.before += count01(before)
	if could && before && page.Recommended == nil {
		t.Logf("suite %d (%s %v, %d tasks x %d, %d paths) gets nothing: %s", seed, s.rule, s.maxLoss, s.tasks, s.trials, len(s.models), auditAnswer(page))
	}
	if could {
		a.couldBefore += count01(before)
		a.couldNow += count01(page.Recommended != nil)
	}
	if page.Recommended == nil {
		return
	}
	a.judge(t, s, page, fresh, reference)
	if seed%4 == 0 {
		s.live(t, dir, page)
	}
}

// live writes what is recommended to the YAML and runs it: the score is the one that
// the page promised.
func (s *auditSuite) live(t *testing.T, dir string, page *auditPage) {
	suite := filepath.Join(dir, "suite.yaml")
	if auditTuned(t, "tune", filepath.Join(dir, "r"), "--suite", suite, "--format", "json", "--apply"); t.Failed() {
		return
	}
	var report struct {
		Configurations []struct {
			Scores []struct{ Mean *float64 }
		}
	}
	var out, errs strings.Builder
	if code := run(t.Context(), []string{"run", suite, "--out", filepath.Join(dir, "live"), "--quiet", "--format", "json"}, func(string) string { return "" }, strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatalf("exit code %d\n%s", code, errs.String())
	}
	if err := json.Unmarshal([]byte(out.String()), &report); err != nil {
		t.Fatal(err)
	}
	got := report.Configurations[0].Scores[0].Mean
	if got == nil {
		t.Fatalf("suite %d: live nothing is scored", s.seed)
	}
	if math.Abs(*got-*page.Recommended.Objective) > 1e-9 {
		t.Errorf("suite %d: live %s scores %v, promised %v", s.seed, page.Recommended.Name, *got, *page.Recommended.Objective)
	}
}

// power says whether a configuration that is at least 10 % cheaper than the reference
// truly loses at most half of what is allowed.
func (s *auditSuite) power(page *auditPage, fresh [][]auditTrial, reference *auditLimits) bool {
	if s.rule != "max_loss" {
		return false
	}
	some := make([][]auditTrial, len(fresh))
	for p := range fresh {
		some[p] = fresh[p][:len(fresh[p])/5]
	}
	whole := truthOf(some, reference, reference)
	return slices.ContainsFunc(page.All, func(row auditRow) bool {
		l := row.limits(s)
		truth := truthOf(some, &l, reference)
		return truth.calls <= 0.9*whole.calls && truth.fell <= s.maxLoss/2
	})
}

// judge holds what is recommended against the truth and the page.
func (a *audit) judge(t *testing.T, s *auditSuite, page *auditPage, fresh [][]auditTrial, reference *auditLimits) {
	a.recommended++
	l := page.Recommended.limits(s)
	truth, whole := truthOf(fresh, &l, reference), truthOf(fresh, reference, reference)
	loss, most := truth.lost, 0.0 // what was recorded loses nothing
	if page.Bound != nil {
		most = *page.Bound.Most
	}
	if page.Bound != nil && page.Bound.Net {
		loss = truth.fell
	}
	// The truth has an error of its own, of a standard error at most.
	if loss > most {
		a.exceeded++
		t.Logf("suite %d (%s %v, %d tasks x %d, %d paths): %s loses %.4f, stated at most %.4f", s.seed, s.rule, s.maxLoss, s.tasks, s.trials, len(s.models), page.Recommended.Name, loss, most)
	}
	if s.rule == "max_loss" && truth.fell > s.maxLoss {
		a.exceededAllowed++
	}
	a.cheaper += count01(truth.calls <= 0.9*whole.calls)
	if !slices.ContainsFunc(page.Front, func(row auditRow) bool { return row.Recommended }) {
		a.dominated++
		t.Logf("suite %d: %s is not on its own front", s.seed, page.Recommended.Name)
	}
	a.idle += count01(s.idle(t, page))
	if at := slices.IndexFunc(page.All, func(row auditRow) bool { return row.limits(s) == *reference }); at >= 0 {
		row := &page.All[at]
		se := math.Sqrt(whole.right * (1 - whole.right) / float64(s.tasks)) // trials of a task are alike
		a.z = append(a.z, (*row.Objective-whole.right)/se)
	}
}

// idle says whether the recommendation changes a parameter though today's value would
// make the same of every run.
func (s *auditSuite) idle(t *testing.T, page *auditPage) (idle bool) {
	mine := page.Recommended.limits(s)
	at := slices.IndexFunc(page.All, func(row auditRow) bool { return row.Recommended })
	for _, change := range page.Changes {
		kept := mine
		switch change.Path {
		case "terminate.max_iterations":
			kept.iterations = s.today.iterations
		case "terminate.confidence.threshold":
			kept.threshold = s.today.threshold
		case "terminate.no_improvement.patience":
			kept.patience = s.today.patience
		default:
			continue
		}
		other := slices.IndexFunc(page.All, func(row auditRow) bool { return row.limits(s) == kept })
		if other >= 0 && string(page.All[other].Counted) == string(page.All[at].Counted) {
			t.Logf("suite %d: %s changes %s from %s to %s, which changes no run", s.seed, page.Recommended.Name, change.Path, change.From, change.To)
			idle = true
		}
	}
	return idle
}

// permuted tunes the same suite with its paths and values in another order.
func (a *audit) permuted(t *testing.T, s *auditSuite, page *auditPage) {
	other := *s
	other.order, other.iterations, other.thresholds = slices.Clone(s.order), slices.Clone(s.iterations), slices.Clone(s.thresholds)
	slices.Reverse(other.order)
	slices.Reverse(other.iterations)
	slices.Reverse(other.thresholds)
	dir := liveFolder(t, other.yaml(other.order), s.tasks)
	if err := os.WriteFile(filepath.Join(dir, "answer.loop.yaml"), []byte(s.loop()), 0o644); err != nil {
		t.Fatal(err)
	}
	again := auditTuned(t, "tune", filepath.Join(dir, "suite.yaml"), "--out", filepath.Join(dir, "r"), "--quiet", "--format", "json", "--table", "all")
	if !samePage(page, again) {
		t.Errorf("suite %d: in another order %s, else %s", s.seed, auditAnswer(again), auditAnswer(page))
	}
}

// tunedPage is the JSON of a tuning that recommends something or nothing.
func auditTuned(t *testing.T, args ...string) *auditPage {
	t.Helper()
	var out, errs strings.Builder
	code := run(t.Context(), args, func(string) string { return "" }, strings.NewReader(""), &out, &errs)
	if code != 0 && code != exit.AnswerNo {
		t.Fatalf("agentbench %v: exit code %d\n%s", args, code, errs.String())
	}
	page := &auditPage{}
	if err := json.Unmarshal([]byte(out.String()), page); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if (page.Recommended == nil) != (code == exit.AnswerNo) {
		t.Fatalf("exit code %d with %s", code, auditAnswer(page))
	}
	return page
}

// samePage says that two tunings recommend the same, with the same numbers.
func samePage(a, b *auditPage) bool { return auditAnswer(a) == auditAnswer(b) }

func auditAnswer(p *auditPage) string {
	if p.Recommended == nil {
		return "nothing: " + p.WhyNone + "; " + p.Guess.Name
	}
	params := slices.Clone(p.Recommended.Params)
	slices.SortFunc(params, func(a, b struct {
		Path  string
		Value any
	}) int {
		return strings.Compare(a.Path, b.Path)
	})
	bound := "as recorded"
	if p.Bound != nil {
		bound = fmt.Sprint(*p.Bound.Most, p.Bound.Net)
	}
	return fmt.Sprint(params, *p.Recommended.Objective, *p.Recommended.Cost, bound)
}
