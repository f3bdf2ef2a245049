# The front door. Everything happens in CMake; `make` only remembers the words.
SHELL := /bin/sh
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
PORT ?= 7717

.PHONY: run tour test build bench fuzz soak tsan lint coverage install setup clean quick

setup:
	@sh tools/setup.sh

# What is run and installed; tests and benches of this build are made by `make bench`.
build: setup
	@tools/build.sh release waybill waybill_shared waybill_static
	@echo "built build/release/waybill"

# The gateway in the foreground, on loopback; the token is printed at its first start.
run: build
	@echo "connect a client: build/release/waybill connect codex   (or claude, or any name for a snippet)"
	@echo "over HTTP:        POST http://127.0.0.1:$(PORT)/mcp with the bearer token; health at /healthz, metrics at /metrics"
	@exec build/release/waybill serve --http 127.0.0.1:$(PORT)

tour: build
	@tools/tour.sh build/release/waybill

# Everything CI runs; ends with ctest's summary.
test: setup
	@tools/test.sh

# One compiler, no sanitizers: for the minutes between edits.
quick: setup
	@tools/build.sh dev
	@ctest --test-dir build/dev --output-on-failure -j $(JOBS)

bench: setup
	@tools/build.sh release
	@tools/bench.sh build/release

fuzz: setup
	@tools/fuzz.sh $${FUZZ_SECONDS:-60}

soak: setup
	@WAYBILL_SOAK=1 tools/test.sh

# What meets more than one thread, under ThreadSanitizer; a warning fails.
tsan: setup
	@tools/tsan.sh

lint: setup
	@tools/lint.sh

coverage: setup
	@tools/coverage.sh

install: build
	@cmake --install build/release --prefix "$(PREFIX)"

clean:
	rm -rf build
