#!/usr/bin/env bash
# The cells of expressivity at the size of a CPU, a process for each; the folder ends with one file, made anew as cells end.
# usage: expressivity_cells.sh FOLDER SECONDS PROCESSES [SCALE] [PYTHON]
set -u
out=$1 seconds=$2 processes=$3
export PYTHONPATH=src OMP_NUM_THREADS=1 scale=${4:-small} python=${5:-python3} work
work=$(mktemp -d)
export end=$(($(date +%s) + seconds))
mkdir -p "$out"
cell() {
  left=$((end - $(date +%s)))
  [ "$left" -gt 15 ] || return 0
  echo "$2" >"$work/cell-$1.txt"
  "$python" research/device_queue.py "$work/cell-$1.txt" --device cpu --scale "$scale" --seconds $((left - 10)) --out "$work" 2>&1 |
    tee "$work/cell-$1.log"
}
export -f cell
save() { tar -C "$work" -cf "$out/cells.tar.new" . && mv "$out/cells.tar.new" "$out/cells.tar"; }
grep -v '^#' research/queues/expressivity-small.txt | awk '{print NR; print $0}' | xargs -d '\n' -n 2 -P "$processes" bash -c 'cell "$@"' _ &
workers=$!
while kill -0 $workers 2>/dev/null && [ "$(date +%s)" -lt "$end" ]; do sleep 10; save; done
wait $workers
save
rm -r "$work"
