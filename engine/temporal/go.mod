module github.com/agentbench/agentbench/engine/temporal

go 1.26.0

require github.com/agentbench/agentbench v0.0.0

// In the tree the module is built with the program beside it. A release requires the tagged version instead.
replace github.com/agentbench/agentbench => ../..
