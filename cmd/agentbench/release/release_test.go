package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const root = "../../.."

func TestTheNoticeNamesEveryLinkedModule(t *testing.T) {
	want, err := notice(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, "NOTICE"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("NOTICE is not what the linked modules say; write it with: go run ./cmd/agentbench/release -notice")
	}
	for _, part := range []string{"github.com/google/cel-go (Apache-2.0 AND BSD-3-Clause)", "github.com/inconshreveable/mousetrap (Apache-2.0)", "the standard library of Go (BSD-3-Clause)", "Copyright (c) 2018 The Go Authors"} {
		if !strings.Contains(string(want), part) {
			t.Errorf("NOTICE lacks %q", part)
		}
	}
}

func TestLicences(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n   Version 2.0, January 2004":                                            "Apache-2.0",
		"Permission is hereby granted, free of\ncharge, to any person":                            "MIT",
		"Redistribution and use in source and binary forms are permitted":                         "BSD-2-Clause",
		"Redistribution and use in source and binary forms ... Neither name of copyright holders": "BSD-3-Clause",
		"Apache License Version 2.0 ... Permission is hereby granted, free of charge":             "Apache-2.0 AND MIT",
		"All rights reserved. You may not copy this.":                                             "",
	} {
		if got := licences(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	unknown := module{Path: "example.com/closed", Dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(unknown.Dir, "LICENSE"), []byte("Keep out."), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := unknown.read(); err == nil || !strings.Contains(err.Error(), "example.com/closed") {
		t.Errorf("a module with an unknown licence: %v", err)
	}
}

func TestARelease_DocumentsEveryCommand(t *testing.T) {
	files, err := documents(root, "1.2.3", time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, f := range files {
		texts[f.name] = string(f.content)
	}
	for name, part := range map[string]string{
		"LICENSE": "Apache License", "NOTICE": "cel-go", "man/agentbench.1": "agentbench 1.2.3", "man/agentbench-tune.1": "max", "man/agentbench-cache-prune.1": "prune",
		"completions/agentbench.bash": "__start_agentbench", "completions/agentbench.zsh": "#compdef agentbench",
		"completions/agentbench.fish": "complete -c agentbench", "completions/agentbench.powershell": "Register-ArgumentCompleter",
	} {
		if !strings.Contains(texts[name], part) {
			t.Errorf("%s lacks %q", name, part)
		}
	}
}

func TestARelease_ArchivesAreTheSameEveryTime(t *testing.T) {
	files := []file{{name: "agentbench", mode: 0o755, content: []byte("program")}, {name: "man/agentbench.1", mode: 0o644, content: []byte("page")}}
	at := time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)
	dir := t.TempDir()
	for name, write := range map[string]func(*bytes.Buffer, []file, time.Time) error{"a.tar.gz": tarred, "a.zip": zipped} {
		first, second := filepath.Join(dir, name), filepath.Join(dir, "again-"+name)
		for _, target := range []string{first, second} {
			if err := pack(target, files, at, write); err != nil {
				t.Fatal(err)
			}
		}
		a, _ := os.ReadFile(first)
		b, _ := os.ReadFile(second)
		if len(a) == 0 || !bytes.Equal(a, b) {
			t.Errorf("%s differs", name)
		}
	}
	packed, err := os.Open(filepath.Join(dir, "a.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(unpacked)
	for _, want := range files {
		head, err := archive.Next()
		if err != nil || head.Name != want.name || head.FileInfo().Mode() != want.mode || !head.ModTime.Equal(at) {
			t.Fatalf("%+v %v", head, err)
		}
		if content, err := io.ReadAll(archive); err != nil || !bytes.Equal(content, want.content) {
			t.Errorf("%s: %q %v", want.name, content, err)
		}
	}
	windows, err := zip.OpenReader(filepath.Join(dir, "a.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer windows.Close()
	if len(windows.File) != 2 || windows.File[0].Name != "agentbench" || windows.File[0].Mode() != 0o755 {
		t.Errorf("%+v", windows.File)
	}
}

func TestARelease_NeedsATag(t *testing.T) {
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false"}, args...)...)
		if said, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, said)
		}
	}
	run("init", "-q")
	run("commit", "-q", "--allow-empty", "-m", "first")
	if version, _, err := versionOf(dir, true); err != nil || !strings.HasPrefix(version, "0.0.0-") {
		t.Errorf("snapshot: %q %v", version, err)
	}
	if version, _, err := versionOf(dir, false); err == nil || !strings.Contains(err.Error(), "-snapshot") {
		t.Errorf("without a tag: %q %v", version, err)
	}
	run("tag", "latest")
	run("tag", "v1.2.3-rc.1")
	if version, _, err := versionOf(dir, false); err != nil || version != "1.2.3-rc.1" {
		t.Errorf("with a tag: %q %v", version, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "new"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if version, _, err := versionOf(dir, false); err == nil || !strings.Contains(err.Error(), "not committed") {
		t.Errorf("with a change: %q %v", version, err)
	}
}

// The document has what SPDX 2.3 requires: see its JSON schema.
func TestTheListOfModulesIsSPDX(t *testing.T) {
	text, err := spdx("1.2.3", time.Unix(0, 0), []module{{Path: "example.com/x/v2", Version: "v2.0.1", licence: "MIT"}})
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		SpdxVersion, DataLicense, SPDXID, Name, DocumentNamespace string
		CreationInfo                                              struct {
			Created  time.Time
			Creators []string
		}
		Packages []struct {
			SPDXID, Name, VersionInfo, DownloadLocation, LicenseConcluded string
			ExternalRefs                                                  []struct{ ReferenceLocator string }
		}
		Relationships []struct{ SpdxElementID, RelationshipType, RelatedSpdxElement string }
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	if list.SpdxVersion != "SPDX-2.3" || list.DataLicense != "CC0-1.0" || list.SPDXID != "SPDXRef-DOCUMENT" || list.DocumentNamespace == "" || len(list.CreationInfo.Creators) != 1 || list.CreationInfo.Created.Unix() != 0 {
		t.Errorf("%+v", list)
	}
	if len(list.Packages) != 2 || len(list.Relationships) != 2 {
		t.Fatalf("%s", text)
	}
	if m := list.Packages[1]; m.SPDXID != "SPDXRef-example.com-x-v2" || m.LicenseConcluded != "MIT" || m.ExternalRefs[0].ReferenceLocator != "pkg:golang/example.com/x/v2@v2.0.1" {
		t.Errorf("%+v", m)
	}
	if r := list.Relationships[1]; r.RelationshipType != "DEPENDS_ON" || r.RelatedSpdxElement != list.Packages[1].SPDXID {
		t.Errorf("%+v", r)
	}
}
