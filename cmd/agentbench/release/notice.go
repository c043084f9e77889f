package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// module is a module that is part of the program on at least one system.
type module struct {
	Path, Version string
	Dir           string
	Main          bool
	licence       string   // an SPDX expression
	texts         []string // what its licence and notice files say
}

// linkedModules are the modules of the program, sorted by path, the standard library
// among them, with their licences. A module whose licence is not known is an error.
func linkedModules(root string) ([]module, error) {
	found := map[string]module{}
	for _, system := range systems {
		goos, goarch, _ := strings.Cut(system, "/")
		list := exec.Command("go", "list", "-C", root, "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{.Main}}{{end}}", "./cmd/agentbench")
		list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
		said, err := output(list)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(said) {
			if f := strings.Split(strings.TrimSpace(line), "\t"); len(f) == 4 && f[3] == "false" {
				found[f[0]] = module{Path: f[0], Version: f[1], Dir: f[2]}
			}
		}
	}
	goroot, err := output(exec.Command("go", "env", "GOROOT"))
	if err != nil {
		return nil, err
	}
	found["std"] = module{Path: "std", Dir: goroot}
	var all []module
	for _, m := range found {
		if err := m.read(); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b module) int { return cmp.Compare(a.Path, b.Path) })
	return all, nil
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|notice|copying)(\.md|\.txt)?$`)

func (m *module) read() error {
	names, err := filepath.Glob(filepath.Join(m.Dir, "*"))
	if err != nil {
		return err
	}
	others, err := filepath.Glob(filepath.Join(m.Dir, "THIRD_PARTY_LICENSES", "*"))
	if err != nil {
		return err
	}
	for _, name := range append(names, others...) {
		if !licenceFile.MatchString(filepath.Base(name)) && !slices.Contains(others, name) {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		m.texts = append(m.texts, string(text))
	}
	if m.licence = licences(strings.Join(m.texts, "\n")); m.licence == "" {
		return fmt.Errorf("the licence of %s in %s is not known", m.Path, m.Dir)
	}
	return nil
}

// licences is the SPDX expression of the licences that a text holds.
func licences(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	var names []string
	has := func(part string) bool { return strings.Contains(text, part) }
	if has("Apache License") && has("Version 2.0") {
		names = append(names, "Apache-2.0")
	}
	if has("Redistribution and use in source and binary forms") {
		if has("Neither the name") || has("Neither name") {
			names = append(names, "BSD-3-Clause")
		} else {
			names = append(names, "BSD-2-Clause")
		}
	}
	if has("Permission is hereby granted, free of charge") {
		names = append(names, "MIT")
	}
	return strings.Join(names, " AND ")
}

func writeNotice(root string) error {
	text, err := notice(root)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "NOTICE"), text, 0o666)
}

var copyright = regexp.MustCompile(`(?i)^\W*(copyright|\(c\)|©) .*[0-9]{4}|(?i)^\W*copyright \(c\)`)

// notice names the modules of the program with their copyrights and licences. A text
// that differs from others by nothing but its copyright lines stands there once.
func notice(root string) ([]byte, error) {
	modules, err := linkedModules(root)
	if err != nil {
		return nil, err
	}
	own, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	apache, _ := splitCopyright(string(own))
	var out bytes.Buffer
	fmt.Fprintf(&out, "agentbench\n\nThe program holds these modules; the texts of their licences follow.\n\n")
	for _, m := range modules {
		name := m.Path
		if name == "std" {
			name = "the standard library of Go"
		}
		fmt.Fprintf(&out, "%s (%s)\n", name, m.licence)
		for _, text := range m.texts {
			_, lines := splitCopyright(text)
			for _, line := range lines {
				fmt.Fprintf(&out, "    %s\n", line)
			}
		}
	}
	said := map[string]bool{words(apache): true}
	for _, m := range modules {
		for _, text := range m.texts {
			body, _ := splitCopyright(text)
			if said[words(body)] {
				continue
			}
			said[words(body)] = true
			fmt.Fprintf(&out, "\n%s\nAs in %s:\n\n%s\n", strings.Repeat("-", 80), m.Path, strings.TrimSpace(body))
		}
	}
	fmt.Fprintf(&out, "\n%s\nApache License, Version 2.0: see the file LICENSE.\n", strings.Repeat("-", 80))
	return out.Bytes(), nil
}

// splitCopyright separates a licence's text from its lines of copyright.
func splitCopyright(text string) (body string, lines []string) {
	var rest strings.Builder
	for scan := bufio.NewScanner(strings.NewReader(text)); scan.Scan(); {
		if line := strings.TrimSpace(scan.Text()); copyright.MatchString(line) && !strings.Contains(line, "[yyyy]") {
			lines = append(lines, line)
		} else {
			rest.WriteString(strings.TrimRight(scan.Text(), " \t\r"))
			rest.WriteByte('\n')
		}
	}
	return rest.String(), lines
}

// words are a text without what only lays it out.
func words(text string) string {
	return strings.ToLower(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > 'z' || r > '9' && r < 'A' || r > 'Z' && r < 'a' }), " "))
}

// spdx lists the program's modules in the format SPDX 2.3, JSON:
// https://spdx.github.io/spdx-spec/v2.3/.
func spdx(version string, at time.Time, modules []module) ([]byte, error) {
	type object = map[string]any
	const none = "NOASSERTION"
	identifier := func(name string) string {
		return "SPDXRef-" + regexp.MustCompile(`[^A-Za-z0-9.]`).ReplaceAllString(name, "-")
	}
	packages := []object{{
		"SPDXID": identifier("agentbench"), "name": "agentbench", "versionInfo": version, "downloadLocation": none,
		"licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0", "copyrightText": none, "filesAnalyzed": false,
	}}
	relations := []object{{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": identifier("agentbench")}}
	for _, m := range modules {
		packages = append(packages, object{
			"SPDXID": identifier(m.Path), "name": m.Path, "versionInfo": m.Version, "downloadLocation": none,
			"licenseConcluded": m.licence, "licenseDeclared": m.licence, "copyrightText": none, "filesAnalyzed": false,
			"externalRefs": []object{{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": "pkg:golang/" + m.Path + "@" + m.Version}},
		})
		relations = append(relations, object{"spdxElementId": identifier("agentbench"), "relationshipType": "DEPENDS_ON", "relatedSpdxElement": identifier(m.Path)})
	}
	text, err := json.MarshalIndent(object{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "agentbench-" + version,
		"documentNamespace": "https://github.com/agentbench/agentbench/releases/" + version,
		"creationInfo":      object{"created": at.UTC().Format(time.RFC3339), "creators": []string{"Tool: agentbench-release"}},
		"packages":          packages, "relationships": relations,
	}, "", "  ")
	return append(text, '\n'), err
}
