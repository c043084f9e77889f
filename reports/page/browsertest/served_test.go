package browsertest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/browse"
	"github.com/agentbench/agentbench/reports/page"
)

// The same script asks a server for what a file has within it.
func TestAServedPageAsksForItsData(t *testing.T) {
	results, err := record.Open(usual().folder(t))
	if err != nil {
		t.Fatal(err)
	}
	report, err := reports.Of(results)
	if err != nil {
		t.Fatal(err)
	}
	script, err := browse.Script()
	if err != nil {
		t.Fatal(err)
	}
	data, err := (&browse.Sources{Suite: "browsed", Sides: []browse.Side{{Results: results, Name: "r"}}, MostTexts: browse.MostTexts}).Collect()
	if err != nil {
		t.Fatal(err)
	}
	var inline bytes.Buffer
	if err := data.Write(&inline); err != nil {
		t.Fatal(err)
	}
	from := func(w io.Writer) error {
		_, err := io.WriteString(w, `<script type="application/octet-stream" data-from="data/"></script>`)
		return err
	}
	var document bytes.Buffer
	if err := page.Write(&document, report, page.Options{Format: "html", Live: &page.Live{Script: script, Style: browse.Style, Data: from, Served: true}}); err != nil {
		t.Fatal(err)
	}
	answers := http.NewServeMux()
	answers.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(document.Bytes()) })
	answers.HandleFunc("/data/runs", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(chunk(t, inline.Bytes(), "runs")) })
	answers.HandleFunc("/data/run", func(w http.ResponseWriter, r *http.Request) {
		var all []map[string]any
		if err := json.Unmarshal(chunk(t, inline.Bytes(), "texts-0"), &all); err != nil {
			t.Error(err)
		}
		at := slices.IndexFunc(all, func(texts map[string]any) bool { return texts["run"] == r.FormValue("run") })
		if at < 0 || r.FormValue("side") != "0" || r.FormValue("run") == "base/task-1/1" {
			http.NotFound(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(all[at])
	})
	server := httptest.NewServer(answers)
	defer server.Close()
	b := openURL(t, server.URL+"/", "#run=new%2Ftask-2%2F1&step=2")
	b.wait(`document.querySelector("[aria-current=step]")?.dataset.step === "2"`)
	b.wait(`document.querySelector(".run").innerText.includes("the answer to task 2")`)
	b.goTo("#q=config:new")
	b.wait(summary + `.startsWith("40 of 80 runs")`)
	b.goTo("#run=base%2Ftask-1%2F1")
	b.wait(`document.querySelector(".run").innerText.includes("The texts of this run are not in this page")`)
	for _, wrong := range b.takeWrong() {
		if !strings.Contains(wrong, "404") { // which the browser logs
			t.Error(wrong)
		}
	}
}

// chunk is the JSON of a chunk of a page.
func chunk(t *testing.T, page []byte, name string) []byte {
	found := regexp.MustCompile(`data-chunk="` + name + `">([^<]+)<`).FindSubmatch(page)
	packed, err := base64.StdEncoding.DecodeString(string(found[1]))
	if err != nil {
		t.Error(err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Error(err)
		return nil
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		t.Error(err)
	}
	return text
}
