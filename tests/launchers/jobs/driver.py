"""Ray: tasks and an actor, on a cluster that this driver starts, or on the one that RAY_ADDRESS names."""

import json
import os
import sys

import ray

try:
    import castscope
    joining = castscope.variables()
except ModuleNotFoundError:
    joining = {}
HERE = os.path.dirname(os.path.abspath(__file__))


@ray.remote
def task(seed):
    from train import train
    return train(seed, 2 + seed)


@ray.remote
class Actor:
    def train(self, seed):
        from train import train
        return train(seed, 5 + seed)


def main():
    """RUNTIME_ENV is what `castscope env --ray` printed."""
    variables = joining | json.loads(os.environ.get("RUNTIME_ENV", "{}")).get("env_vars", {})
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, [variables.get("PYTHONPATH"), HERE]))
    on = {} if "RAY_ADDRESS" in os.environ else {"address": "local", "num_cpus": 2, "include_dashboard": False}
    ray.init(runtime_env={"env_vars": variables}, log_to_driver=False, **on)
    actor = Actor.remote()
    print(ray.get([task.remote(0), task.remote(1), actor.train.remote(2)]), flush=True)
    ray.shutdown()
    sys.exit(5)


if __name__ == "__main__":
    main()
