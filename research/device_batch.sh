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
  python3 - "$folder" "$out" "${NETWORKS:-*}" <<'PY'
import lzma, sys, tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from krohn.lab.experiments.store import Store

folder, out = map(Path, sys.argv[1:3])
known = {record.key for record in Store(Path("results"), writable=False).records() if record.status == "done"}
with Store(out / "new") as new:  # what all queues have that is not published
    for file in {file.parent for file in folder.glob("*/*.jsonl")}:
        with Store(file, writable=False) as store:
            records = [record for record in store.records() if record.key not in known]
            runs = {record.run_id for record in records}
            new.put(records, [member for member in store.members() if member.run_id in runs])

# Eight files of 16 MiB, 64 MiB in all, come home from a call; each network goes home once. Numbers of two bytes
# with alike exponents: a model for each of the two bytes packs them to three quarters.
by_bytes = [{"id": lzma.FILTER_LZMA2, "preset": 0, "lp": 1, "lc": 3, "pb": 1}]

def packed(network):
    place = folder / f"{network.name}.tar.xz"
    with lzma.open(place, "wb", filters=by_bytes) as file, tarfile.open(fileobj=file, mode="w") as tar:
        tar.add(network, network.name)
    return place

sent = folder / "sent"
gone = sent.read_text().split() if sent.exists() else []
whole = sorted(file.parent for file in folder.glob(f"networks/{sys.argv[3]}/result.json"))
room, pieces = 65_500_000, 6
with ThreadPoolExecutor(4) as pool:
    places = list(pool.map(packed, [network for network in whole if network.name not in gone][:4]))
for place in places:
    data = place.read_bytes()
    parts = [data[first : first + 16_500_000] for first in range(0, len(data), 16_500_000)]
    if len(data) <= room and len(parts) <= pieces:
        room, pieces = room - len(data), pieces - len(parts)
        for number, part in enumerate(parts):
            (out / f"{place.name}.{number}").write_bytes(part)
        gone.append(place.name.removesuffix(".tar.xz"))
    place.unlink()
sent.write_text("\n".join(gone))
PY
  tar -C "$folder" --exclude=networks --exclude='*.xz' -czf "$out/logs-and-jobs.tar.gz" .
  ls -l "$out" ;;
esac
