"""joblib's workers: loky starts its own processes."""

import joblib
from train import train

if __name__ == "__main__":
    print(train(0, 1))
    print(joblib.Parallel(n_jobs=2)(joblib.delayed(train)(seed, 2 + seed) for seed in range(4)), flush=True)
