#!/usr/bin/env bash
# Queues side by side on a lent GPU, and other jobs on its processors, while short calls look after them.
#   device_batch.sh start  FOLDER SECONDS QUEUE.txt ...   begins and returns; the work goes on between calls;
#                                                         a queue named several times is shared by as many processes
#   device_batch.sh jobs   FOLDER JOB.sh ...              begins jobs on the processors, each with a folder of its own
#   device_batch.sh collect FOLDER OUT SECONDS            waits, then copies what is there into few files
# Collect every few minutes: a lent machine may be taken back, and what was not copied is lost.
set -u
what=$1 folder=$2; shift 2
export PYTHONPATH=src PYTHONUNBUFFERED=1
mkdir -p "$folder"
case $what in
start)
  seconds=$1; shift
  nvidia-cuda-mps-control -d 2>/dev/null || echo "MPS was started before, or is not there and the queues take turns"
  number=0
  for queue in "$@"; do
    number=$((number + 1)) name=$(basename "$queue" .txt)-$number
    OMP_NUM_THREADS=2 setsid nohup python3 research/device_queue.py "$queue" --device "${DEVICE:-cuda}" --name "$name" \
      --seconds "$seconds" --share "${SHARE:-1}" --out "$folder" --known results/*-small.jsonl >> "$folder/$name.log" 2>&1 &
  done ;;
jobs)
  for job in "$@"; do
    name=$(basename "$job" .sh)
    mkdir -p "$folder/jobs/$name"
    OMP_NUM_THREADS=1 setsid nohup nice -n 5 bash "$job" "$folder/jobs/$name" > "$folder/jobs/$name.log" 2>&1 &
  done ;;
collect)
  out=$1 seconds=$2
  sleep "$seconds"
  mkdir -p "$out"
  for log in "$folder"/*.log "$folder"/jobs/*.log; do [ -f "$log" ] && { echo "== $(basename "$log")"; tail -n 25 "$log"; }; done
  python3 - "$folder" "$out" <<'PY'
import sqlite3, sys
from pathlib import Path
folder, out = map(Path, sys.argv[1:])
for file in folder.glob("*.sqlite"):  # a whole copy, though a queue may be writing
    with sqlite3.connect(file) as source, sqlite3.connect(out / file.name) as copy:
        source.backup(copy)
PY
  pieces=0 # eight files come home from a call: a network of 8 layers takes two of them, and each goes home once
  for network in "$folder"/networks/*/weights.safetensors; do
    [ -f "$network" ] || continue
    name=$(basename "$(dirname "$network")")
    grep -qx "$name" "$folder/sent" 2>/dev/null && continue
    size=$((($(stat -c %s "$network") + 15000000) / 15000000))
    [ $((pieces + size)) -le 4 ] || break
    tar -C "$folder/networks" -cf - "$name" | split -b 15000000 - "$out/$name.tar."
    pieces=$((pieces + size)); echo "$name" >> "$folder/sent"
  done
  tar -C "$folder" --exclude='*.sqlite*' --exclude=networks -czf "$out/logs-and-jobs.tar.gz" .
  ls -l "$out" ;;
esac
