package command

import "testing"

func TestDatasetsDocument(t *testing.T) { runDocument(t, "../../../docs/datasets.md", 4) }
