package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const (
	// SDKEnv names a node_modules directory that holds the SDK.
	SDKEnv = "HARNESS_MCP_TEST_TSSDK"

	// ModernSDKEnv names one that holds version 2 of it.
	ModernSDKEnv = "HARNESS_MCP_TEST_TSSDK2"

	// RequireEnv, set to 1, turns skips for want of programs into failures.
	RequireEnv = "HARNESS_MCP_REQUIRE_CLIS"
)

// Require returns the node program and the directory of the SDK. The test is
// skipped, or failed where RequireEnv is 1, if either is missing.
func Require(t testing.TB) (node, sdk string) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		missing(t, "node is not installed")
	}
	sdk = os.Getenv(SDKEnv)
	if sdk == "" {
		sdk = filepath.Join(root(t), ".tools", "ts", "node_modules")
	}
	if _, err := os.Stat(filepath.Join(sdk, "@modelcontextprotocol", "sdk", "package.json")); err != nil {
		missing(t, "the TypeScript MCP SDK is not in "+sdk+" (install internal/e2e/package.json into .tools/ts, or set "+SDKEnv+")")
	}
	return node, sdk
}

// requireModern is Require for version 2 of the SDK.
func requireModern(t testing.TB) string {
	t.Helper()
	sdk := os.Getenv(ModernSDKEnv)
	if sdk == "" {
		sdk = filepath.Join(root(t), ".tools", "ts2", "node_modules")
	}
	if _, err := os.Stat(filepath.Join(sdk, "@modelcontextprotocol", "client", "package.json")); err != nil {
		missing(t, "version 2 of the TypeScript MCP SDK is not in "+sdk+" (make tools installs it, or set "+ModernSDKEnv+")")
	}
	return sdk
}

func missing(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv(RequireEnv) == "1" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// root returns the directory of the module, found from the package's own.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test's directory")
		}
		dir = parent
	}
}
