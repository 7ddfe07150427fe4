#!/usr/bin/env bash
# One batch on a lent GPU: two queues side by side, everything that comes back in one folder of few files.
# usage: device_batch.sh FOLDER SECONDS MAIN.txt [SIDE.txt]
set -u
out=$1 seconds=$2 main=$3 side=${4:-}
export PYTHONPATH=src PYTHONUNBUFFERED=1 OMP_NUM_THREADS=4
mkdir -p "$out"
nvidia-cuda-mps-control -d 2>/dev/null || echo "no MPS: the queues take turns"
run() { python3 benchmarks/device_queue.py "$1" --device cuda --seconds "$seconds" --out "$out" --known results/uniform-small.jsonl results/networks-small.jsonl results/length-small.jsonl results/stability-small.jsonl results/depth-small.jsonl 2>&1 | sed "s/^/$(basename "$1" .txt) | /"; }
run "$main" | tee "$out/main.log" & first=$!
[ -n "$side" ] && { run "$side" | tee "$out/side.log" & second=$!; wait $second; }
wait $first
[ -d "$out/networks" ] && tar -C "$out" -cf "$out/networks.tar" networks && rm -r "$out/networks"
echo quit | nvidia-cuda-mps-control >/dev/null 2>&1
rm -f "$out"/*-wal "$out"/*-shm
ls -l "$out"
