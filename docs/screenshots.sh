#!/usr/bin/env bash
# Makes the pictures of README and docs, light and dark, from commands that anyone can rerun:
#
#   docs/screenshots.sh
#
# It needs Go, Debian's chromium and a font with emoji (apt-get install chromium fonts-noto-color-emoji),
# and changes only docs/images. Results are made in a temporary folder.
set -euo pipefail
cd "$(dirname "$0")/.."
images=$PWD/docs/images
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$images"
go build -trimpath -o "$work/agentbench" ./cmd/agentbench
cd "$work"

# shot NAME WIDTH HEIGHT PAGE [FRAGMENT]: a picture of a page in both schemes.
shot() {
	local name=$1 width=$2 height=$3 page=$4 fragment=${5:-} scheme number=1
	for scheme in light dark; do
		[ "$scheme" = light ] || number=0 # as Chromium counts them
		chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/profile" --blink-settings="preferredColorScheme=$number" --virtual-time-budget=5000 \
			--force-device-scale-factor=1 --window-size="$width,$height" --screenshot="$images/$name-$scheme.png" "file://$work/$page$fragment" 2>/dev/null
	done
}

./agentbench run quickstart -q --out first --page first.html >/dev/null
./agentbench tune quickstart -q --out tuned --page tune.html >/dev/null
for night in 1 2 3 4 5; do
	./agentbench run quickstart -q --out "nightly-$night" --seed "$night" --configuration default --set "terminate.max_iterations=$((night == 4 ? 2 : 3))" >/dev/null || test $? -eq 1
done
./agentbench page --trend 'nightly-*' -o trend.html >/dev/null

shot front 1100 620 tune.html '#front'
shot tune 1100 900 tune.html
shot curve 1100 760 first.html '#curve'
shot runs 1100 620 first.html '#q=status%3Afailed&sort=-cost'
shot run 1100 700 first.html '#run=default%2Fproblem-002%2F1&step=2'
shot trend 1100 620 trend.html
du -b "$images"/*.png
