// Package browsertest opens pages that agentbench writes in a real browser and uses them as a
// person does. It is a module of its own, so that the product links no browser driver.
//
// Without Chromium the tests skip; CI_ONLY=browser .ci/run installs it.
package browsertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/agentbench/agentbench/cmd/agentbench/command"
)

// browser is the one that all tests open their tabs in.
var browser struct {
	once sync.Once
	ctx  context.Context
	err  error
	ends []context.CancelFunc
}

// asCommand makes the test binary the program agentbench.
const asCommand = "AGENTBENCH_BROWSERTEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(command.Main())
	}
	code := m.Run()
	for _, end := range browser.ends {
		end()
	}
	os.Exit(code)
}

// startBrowser starts Chromium without anything that asks the network by itself.
func startBrowser() {
	path, err := exec.LookPath("chromium")
	if err != nil {
		browser.err = err
		return
	}
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(path)}
	for _, flag := range strings.Fields("headless no-sandbox disable-gpu disable-quic no-first-run disable-background-networking disable-component-update disable-sync disable-ipc-flooding-protection") {
		options = append(options, chromedp.Flag(flag, true))
	}
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, close := chromedp.NewContext(allocator)
	browser.ctx, browser.ends = ctx, []context.CancelFunc{close, end}
	browser.err = chromedp.Do(ctx)
}

// tab is an open page. What must not happen is collected while the test uses it.
type tab struct {
	t     testing.TB
	ctx   context.Context
	url   string // without what is behind #
	mu    sync.Mutex
	wrong []string
}

// observed makes violations of the page's policy seen: it is run before the page's own script.
const observed = `addEventListener("securitypolicyviolation", (e) => console.error("policy: " + e.violatedDirective + " " + e.blockedURI))`

// open opens a file at a place such as #q=. At the end of the test it must have asked for nothing,
// violated no policy and met no error.
func open(t testing.TB, file, hash string) *tab {
	t.Helper()
	return openURL(t, (&url.URL{Scheme: "file", Path: file}).String(), hash)
}

func openURL(t testing.TB, address, hash string) *tab {
	t.Helper()
	b := openTab(t, address)
	b.do(chromedp.Navigate(address + hash))
	b.wait(ready)
	return b
}

// ready means that the script of a page has done its work.
const ready = `document.body.dataset.ready === "yes"`

// openTab opens an empty tab for a page of this address.
func openTab(t testing.TB, address string) *tab {
	t.Helper()
	browser.once.Do(startBrowser)
	if errors.Is(browser.err, exec.ErrNotFound) {
		t.Skip("no chromium: CI_ONLY=browser .ci/run installs it")
	}
	if browser.err != nil {
		t.Fatal(browser.err)
	}
	ctx, end := chromedp.NewContext(browser.ctx)
	limit := time.Minute
	if os.Getenv("AGENTBENCH_PICTURES") != "" { // many are taken of a page
		limit = 10 * time.Minute
	}
	ctx, stop := context.WithTimeout(ctx, limit)
	b := &tab{t: t, ctx: ctx, url: address}
	t.Cleanup(func() {
		stop()
		end()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, wrong := range b.wrong {
			t.Error(wrong)
		}
	})
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	b.do(call(log.Enable, cdp.Empty{}), call(network.Enable, network.EnableParams{}), call(runtime.Enable, cdp.Empty{}),
		call(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: observed}))
	return b
}

func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		b.wrong = append(b.wrong, "exception: "+text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			b.wrong = append(b.wrong, fmt.Sprintf("console: %s", e.Args[0].Value))
		}
	case *log.EventEntryAdded:
		b.wrong = append(b.wrong, "log: "+e.Entry.Text+" "+e.Entry.URL)
	case *network.EventRequestWillBeSent:
		if is, _, _ := strings.Cut(e.Request.URL, "#"); is != b.url && !(b.served() && b.serves(is)) {
			b.wrong = append(b.wrong, "request: "+e.Request.URL)
		}
	}
}

// serves reports whether the server of agentbench view has an address: a link, a page or its data.
func (b *tab) serves(address string) bool {
	home, _ := url.Parse(b.url)
	asked, err := url.Parse(address)
	return err == nil && (asked.Host == home.Host || asked.Scheme == "file")
}

// forget forgets what was wrong with a status that the browser logs and the test expects.
func (b *tab) forget(status string) {
	b.t.Helper()
	for _, wrong := range b.takeWrong() {
		if !strings.Contains(wrong, "status of "+status) {
			b.t.Error(wrong)
		}
	}
}

// takeWrong gives what was wrong so far, and forgets it.
func (b *tab) takeWrong() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	wrong := b.wrong
	b.wrong = nil
	return wrong
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// call is a command of the browser's protocol whose answer does not matter.
func call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, command, params)
		return err
	})
}

// value is the value of an expression of JavaScript.
func value[T any](b *tab, expression string) T {
	b.t.Helper()
	is, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return is
}

// leaves are errors of looking at a page that is being left.
var leaves = regexp.MustCompile(`navigated or closed|context was destroyed|Cannot find (default execution )?context`)

// wait waits until an expression is true.
func (b *tab) wait(expression string) {
	b.t.Helper()
	const look = `new Promise((ended) => {
		const until = performance.now() + 30000;
		const look = () => {
			let is = false;
			try { is = %s } catch { /* what it looks at is not there yet */ }
			if (is || performance.now() > until) ended(!!is);
			else setTimeout(look, 5);
		};
		look();
	})`
	looked := chromedp.Evaluate[bool](fmt.Sprintf(look, expression), chromedp.EvalAwaitPromise)
	is, err := chromedp.Run(b.ctx, looked)
	for err != nil && leaves.MatchString(err.Error()) { // another page is loaded meanwhile
		is, err = chromedp.Run(b.ctx, looked)
	}
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	if !is {
		b.t.Fatalf("%s does not become true; the page is at %s and says %.600s; %q", expression, b.text("location.hash"), b.text("document.body.innerText"), b.takeWrong())
	}
}

func (b *tab) text(expression string) string    { b.t.Helper(); return value[string](b, expression) }
func (b *tab) number(expression string) float64 { b.t.Helper(); return value[float64](b, expression) }

// run runs JavaScript and waits for its promise.
func (b *tab) run(script string) {
	b.t.Helper()
	value[chromedp.Void](b, "(async () => { "+script+" })()")
}

// click clicks on the element that an expression gives.
func (b *tab) click(expression string) {
	b.t.Helper()
	if !value[bool](b, "(() => { const it = "+expression+"; it?.focus(); it?.click(); return !!it })()") {
		b.t.Fatalf("nothing to click on: %s; the page says %.600s", expression, b.text("document.body.innerText"))
	}
}

// keys types on the keyboard, whatever has the focus.
func (b *tab) keys(keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// goTo changes what is behind #, as a link does.
func (b *tab) goTo(hash string) {
	b.t.Helper()
	b.run(fmt.Sprintf("location.hash = %q", hash))
}

// sized makes the window so wide.
func (b *tab) sized(width int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, 800))
}

// write writes the page of a result, or of two that are compared, and gives the path of the file.
func write(t testing.TB, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	root := command.Tree()
	command := []string{"report"}
	if len(args) == 2 {
		command = []string{"diff", "--fail-on", "none"}
	}
	root.SetArgs(slices.Concat(command, args, []string{"--page", file}))
	root.SetOut(io.Discard)
	err := root.Execute() // that there is no answer is an error, which the page says
	if _, missing := os.Stat(file); missing != nil {
		t.Fatal(cmp.Or(err, missing))
	}
	return file
}

// scheme sets what prefers-color-scheme says.
func (b *tab) scheme(scheme string) {
	b.t.Helper()
	b.do(call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}))
}

// picture keeps a screenshot in the folder that AGENTBENCH_PICTURES names, to be looked at.
func (b *tab) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("AGENTBENCH_PICTURES")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// served reports whether the page comes from a server, which it may ask for data.
func (b *tab) served() bool { return strings.HasPrefix(b.url, "http://127.0.0.1:") }

// pressed is a key that is no character, such as an arrow.
func pressed(key string) chromedp.Action[chromedp.Void] {
	return call(input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: key, Code: key})
}

// browserCall is a command to the browser, and not to a tab.
func browserCall[P, R any](b *tab, command cdp.Command[P, R], params P) {
	b.t.Helper()
	if _, err := chromedp.CallBrowser(b.ctx, command, params); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) allowClipboard() {
	b.t.Helper()
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		browserCall(b, cdpbrowser.SetPermission, cdpbrowser.SetPermissionParams{Permission: &cdpbrowser.PermissionDescriptor{Name: name}, Setting: cdpbrowser.PermissionSettingGranted})
	}
}

// downloads lets the page save files, and gives the folder in which they are.
func (b *tab) downloads() string {
	b.t.Helper()
	dir := b.t.TempDir()
	browserCall(b, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{Behavior: cdpbrowser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir})
	return dir
}

// downloaded waits for a file of that name.
func (b *tab) downloaded(dir, name string) string {
	b.t.Helper()
	path := filepath.Join(dir, name)
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); {
		if _, err := os.Stat(path); err == nil {
			return path
		}
		b.wait("new Promise((ended) => setTimeout(ended, 10)) && true")
	}
	b.t.Fatalf("%s was not saved", name)
	return ""
}
