# harness-mcp: what a person and CI run. "make" lists the targets.

SHELL := bash
.DEFAULT_GOAL := help

# What the checks use, each pinned here and nowhere else.
# The newest Codex, and the oldest one that the adapter is held to.
CODEX_VERSION     := 0.171.0
CODEX_OLD_VERSION := 0.150.0
# The newest Claude Code, and the oldest that npm still picks by itself.
CLAUDE_VERSION     := 2.1.332
CLAUDE_OLD_VERSION := 2.1.197
# Agents that speak ACP; all but codex-acp are for make nightly.
CODEX_ACP_VERSION  := 0.16.0
GEMINI_VERSION     := 0.61.0
OPENCODE_VERSION   := 1.18.33
COPILOT_VERSION    := 1.0.102
QWEN_VERSION       := 0.24.4
CLAUDE_ACP_VERSION := 0.101.0
# The newest Pi, and one of the releases that do not say when a turn has settled.
PI_VERSION     := 1.6.0
PI_OLD_VERSION := 0.73.1
TSSDK_VERSION := 1.32.2
# Version 2 of the SDK speaks 2026-07-28.
TSSDK2_VERSION := 2.4.0
NODE_VERSION  := 24.21.0
CONFORMANCE_VERSION := 0.2.0-alpha.12
INSPECTOR_VERSION   := 2.12.0
STATICCHECK   := honnef.co/go/tools/cmd/staticcheck@v0.8.1

TOOLS := $(CURDIR)/.tools
GO    ?= go

# A private Node for the public suites, which need a newer one than many have.
NODE_PACKAGE := node-$(shell uname -s | tr A-Z a-z)-$(patsubst x86_64,x64,$(patsubst aarch64,arm64,$(shell uname -m)))

# The tests' time-out is for all tests of one package together.
TEST_TIMEOUT ?= 30m
FUZZTIME     ?= 30s
FUZZ         ?= .
BENCHTIME    ?= 1s
BENCH        ?= .

# Before a command: it drives the real CLIs, and one that is missing is a failure.
REAL_CLIS = codex=$$(scripts/codex-binary $(TOOLS)/codex) && codex_old=$$(scripts/codex-binary $(TOOLS)/codex-$(CODEX_OLD_VERSION)) && \
	claude=$$(scripts/claude-binary $(TOOLS)/claude) && \
	claude_old=$$(scripts/claude-binary $(TOOLS)/claude-$(CLAUDE_OLD_VERSION)) && \
	HARNESS_MCP_TEST_CLAUDE="$$claude" HARNESS_MCP_TEST_CLAUDE_OLD="$$claude_old" \
	HARNESS_MCP_REQUIRE_CLIS=1 HARNESS_MCP_TEST_CODEX="$$codex" HARNESS_MCP_TEST_CODEX_OLD="$$codex_old" \
	HARNESS_MCP_TEST_PI="$(TOOLS)/pi/node_modules/.bin/pi" HARNESS_MCP_TEST_PI_OLD="$(TOOLS)/pi-$(PI_OLD_VERSION)/node_modules/.bin/pi" \
	HARNESS_MCP_TEST_TSSDK="$(TOOLS)/ts/node_modules" HARNESS_MCP_TEST_TSSDK2="$(TOOLS)/ts2/node_modules"

.PHONY: help
help: ## Lists the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Builds bin/harness-mcp, a static binary
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/harness-mcp ./cmd/harness-mcp

.PHONY: test
test: ## Runs the tests; needs nothing but Go, and skips what needs more
	$(GO) test ./...

.PHONY: check
check: tools format-check vet lint cross build test-race ## Everything that CI runs: style, builds, all tests on the real CLIs

.PHONY: tools
tools: ## Installs the pinned CLIs that the tests drive into .tools/
	@scripts/npm-tool $(TOOLS)/codex @openai/codex $(CODEX_VERSION)
	@scripts/npm-tool $(TOOLS)/codex-$(CODEX_OLD_VERSION) @openai/codex $(CODEX_OLD_VERSION)
	@claude=@anthropic-ai/claude-code-$$(scripts/claude-platform) && \
		scripts/npm-tool $(TOOLS)/claude $$claude $(CLAUDE_VERSION) && \
		scripts/npm-tool $(TOOLS)/claude-$(CLAUDE_OLD_VERSION) $$claude $(CLAUDE_OLD_VERSION)
	@scripts/npm-tool $(TOOLS)/codex-acp @zed-industries/codex-acp $(CODEX_ACP_VERSION)
	@scripts/npm-tool $(TOOLS)/ts @modelcontextprotocol/sdk $(TSSDK_VERSION)
	@scripts/npm-tool $(TOOLS)/ts2 @modelcontextprotocol/client $(TSSDK2_VERSION)
	@scripts/npm-tool $(TOOLS)/node $(NODE_PACKAGE) $(NODE_VERSION)
	@scripts/npm-tool $(TOOLS)/pi @earendil-works/pi-coding-agent $(PI_VERSION)
	@scripts/npm-tool $(TOOLS)/pi-$(PI_OLD_VERSION) @mariozechner/pi-coding-agent $(PI_OLD_VERSION)
	@for pi in pi pi-$(PI_OLD_VERSION); do \
		ln -sfn ../../../node/node_modules/$(NODE_PACKAGE)/bin/node $(TOOLS)/$$pi/node_modules/.bin/node; done
	@scripts/npm-tool $(TOOLS)/conformance @modelcontextprotocol/conformance $(CONFORMANCE_VERSION)
	@scripts/npm-tool $(TOOLS)/inspector @modelcontextprotocol/inspector $(INSPECTOR_VERSION)

.PHONY: nightly-tools
nightly-tools: tools
	@scripts/npm-tool $(TOOLS)/gemini @google/gemini-cli $(GEMINI_VERSION)
	@scripts/npm-tool $(TOOLS)/opencode opencode-ai $(OPENCODE_VERSION)
	@scripts/npm-tool $(TOOLS)/copilot @github/copilot $(COPILOT_VERSION)
	@scripts/npm-tool $(TOOLS)/qwen @qwen-code/qwen-code $(QWEN_VERSION)
	@scripts/npm-tool $(TOOLS)/claude-acp @agentclientprotocol/claude-agent-acp $(CLAUDE_ACP_VERSION)

.PHONY: format
format: ## Formats every Go file
	gofmt -w $$(git ls-files --cached --others --exclude-standard -- '*.go')

.PHONY: format-check
format-check:
	@scripts/check-format

.PHONY: vet
vet: ## Runs go vet and checks go.mod against the downloads
	$(GO) vet ./...
	$(GO) mod verify

.PHONY: lint
lint: ## Runs staticcheck (staticcheck.conf says with which checks)
	$(GO) run $(STATICCHECK) ./...

.PHONY: cross
# Tests start servers as POSIX does; for Windows only the product is built.
cross: ## Builds the command for the other systems, without cgo
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 $(GO) vet ./cmd/...
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/harness-mcp
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/harness-mcp

.PHONY: test-race
test-race: tools need-cc ## Runs the tests with the race detector, on the real CLIs
	$(REAL_CLIS) HARNESS_MCP_TEST_CRASHES=20 CGO_ENABLED=1 $(GO) test -race -shuffle=on -timeout $(TEST_TIMEOUT) ./...

.PHONY: need-cc
need-cc:
	@command -v "$$($(GO) env CC)" >/dev/null || { \
		echo "the race detector needs a C compiler: install gcc (Debian: apt-get install gcc libc6-dev), or run 'make test'" >&2; exit 1; }

.PHONY: surface
surface: ## Makes docs/surface.md: what reaches real clients' models, in bytes
	$(REAL_CLIS) $(GO) test -count=1 ./cmd/harness-mcp -run TestTenWishesOnRealClients -args -surface

.PHONY: bench
bench: need-cc ## Prints the journal's table (docs/performance.md), then the benchmarks (BENCH=regexp, BENCHTIME=1s)
	cd internal/bench && CGO_ENABLED=1 $(GO) run . -root $(CURDIR)
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem ./...

.PHONY: fuzz
fuzz: ## Runs every fuzz target for a while (FUZZ=regexp, FUZZTIME=30s)
	scripts/fuzz $(FUZZTIME) '$(FUZZ)'

.PHONY: nightly
nightly: check nightly-tools ## What is too dear for every change: more agents, repeated tests and long fuzzing
	$(REAL_CLIS) HARNESS_MCP_NIGHTLY=1 $(GO) test -timeout 90m -run 'TestRealAgentsConform|TestMainScenarios' ./providers/acp ./cmd/harness-mcp
	$(REAL_CLIS) CGO_ENABLED=1 $(GO) test -race -shuffle=on -count=5 -timeout 60m ./...
	HARNESS_MCP_TEST_CRASHES=200 HARNESS_MCP_TEST_CROWD_SECONDS=60 $(GO) test -run 'IsKilled|TenServers' -timeout 60m ./cmd/harness-mcp
	HARNESS_MCP_ORPHAN_ROUNDS=50 $(GO) test -run Orphan -timeout 30m ./cmd/...
	scripts/fuzz 3m .

.PHONY: clean
clean: ## Removes what was built and installed here
	rm -rf bin $(TOOLS)
