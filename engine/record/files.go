package record

// The files of a result folder.
const (
	manifestFile = "manifest.json"
	recordsFile  = "records.jsonl"
	signalsFile  = "signals.jsonl"
	scoresFile   = "scores.jsonl"
	lockFile     = "lock"
)
