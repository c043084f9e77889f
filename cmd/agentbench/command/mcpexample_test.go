package command

import (
	"context"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpExample is a server of tools that scripts start.
func mcpExample() {
	server := mcp.NewServer(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	type number struct {
		N int `json:"n"`
	}
	type nothing struct{}
	mcp.AddTool(server, &mcp.Tool{Name: "double", Description: "Doubles a number."}, func(_ context.Context, _ *mcp.CallToolRequest, in number) (*mcp.CallToolResult, number, error) {
		return nil, number{2 * in.N}, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "pid", Description: "Tells which process this is."}, func(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint("process ", os.Getpid())}}}, nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "die", Description: "Ends the server."}, func(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, any, error) {
		fmt.Fprintln(os.Stderr, "out of luck")
		os.Exit(3)
		return nil, nil, nil
	})
	_ = server.Run(context.Background(), &mcp.StdioTransport{})
}
