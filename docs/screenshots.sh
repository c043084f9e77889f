#!/usr/bin/env bash
# Makes the pictures of README and docs, light and dark, from commands that anyone can rerun:
#
#   docs/screenshots.sh
#
# It needs Go, and Debian's chromium (apt-get install chromium fonts-noto-color-emoji), and changes only
# docs/images. Results are made in a temporary folder.
set -euo pipefail
cd "$(dirname "$0")/.."
images=$PWD/docs/images
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$images"
go build -trimpath -o "$work/agentbench" ./cmd/agentbench
cd "$work"

./agentbench run quickstart -q --out first --page first.html >/dev/null
./agentbench tune quickstart -q --out tuned --page tune.html >/dev/null
cd - >/dev/null
AGENTBENCH_PAGES=$work AGENTBENCH_IMAGES=$images GOWORK=off go -C reports/page/browsertest test -count=1 -run TestPicturesOfTheDocs .
du -b "$images"/*.png
