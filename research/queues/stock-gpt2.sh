#!/usr/bin/env bash
# Cells of the depth map by AdamW in the GPT-2 code of transformers; `device_batch.sh jobs FOLDER` gives the folder.
for cell in "Grid9 --layers 2" "C3 --layers 4" "A5 --layers 8"; do
  for lr in 1e-4 3e-4; do
    python3 research/stock_gpt2.py $cell --lr $lr --seconds 280 --out "$1/$(echo "$cell-$lr" | tr -dc 'A-Za-z0-9.-').json"
  done
done
