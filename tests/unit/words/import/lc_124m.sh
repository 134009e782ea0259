mpirun -np 8 ./train_gpt2cu -i "data/train_*.bin" -j "data/val_*.bin" -e d12 -b 64 -t 1024 -d 524288 -r 1 -z 1 -c 0.1 -l 0.0006 -q 0.0 -u 700 -n 5000 -v 250 -s 20000 -h 1 -x 1000
