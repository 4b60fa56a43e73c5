"""The name of a module in a report when the model changes while the job runs."""

import collections

import pytest

START = """\
    region = lambda: torch.autocast("cpu", dtype=torch.bfloat16)
    x = torch.randn(2, 4)
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.q = torch.nn.Linear(4, 4)
            self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))
        def forward(self, x):
            x = self.q(x)
            for layer in self.layers:
                x = layer(x)
            return x
    def use(net):
        with region():
            net(x)
    """


def weights(report):
    """Returns the casts of weights by model, module and class."""
    casts = collections.Counter()
    for site in report["sites"]:
        if site["cause"] == "autocast" and site["argument"] == "weight":
            casts[site["model"], site["module"], site["module_type"]] += site["casts"]
    return dict(casts)


@pytest.mark.job(START + """
    class Adapter(torch.nn.Module):
        def __init__(self, base):
            super().__init__()
            self.base = base
            self.a = torch.nn.Linear(4, 4, bias=False)
        def forward(self, x):
            return self.base(x) + self.a(x)
    net = Net()
    for _ in range(2):
        use(net)
    net.q = Adapter(net.q)
    for _ in range(3):
        use(net)
    """)
def test_a_layer_that_is_wrapped_is_where_it_is_now(report):
    found = weights(report)
    assert found["Net", "q", "Linear"] == 2
    assert found["Net", "q.base", "Linear"] == found["Net", "q.a", "Linear"] == 3


@pytest.mark.job(START + """
    net = Net()
    for _ in range(2):
        use(net)
    del net.layers[0]
    for _ in range(3):
        use(net)
    """)
def test_layers_move_up_when_one_is_taken_out(report):
    found = weights(report)
    assert [found["Net", f"layers.{i}", "Linear"] for i in range(3)] == [5, 5, 2]


@pytest.mark.job(START + """
    from torch.nn.utils import parametrize
    net = Net()
    use(net)
    class Same(torch.nn.Module):
        def forward(self, w):
            return w
    parametrize.register_parametrization(net.q, "weight", Same())
    use(net)
    parametrize.remove_parametrizations(net.q, "weight")
    use(net)
    """)
def test_the_class_is_that_of_the_moment(report):
    found = weights(report)
    assert found["Net", "q", "Linear"] == 2
    assert found["Net", "q", "ParametrizedLinear"] == 1


@pytest.mark.job(START + """
    net = torch.nn.Sequential(torch.nn.LazyLinear(4), torch.nn.LazyLinear(4), torch.nn.LazyLinear(4))
    for _ in range(2):
        use(net)
    """)
def test_lazy_layers_are_what_they_become(report):
    assert weights(report) == {("Sequential", str(i), "Linear"): 2 for i in range(3)}


@pytest.mark.job(START + """
    net = Net()
    use(net.q)
    use(net)
    use(net.q)
    """)
def test_a_part_that_was_used_first_belongs_to_the_whole(report):
    found = weights(report)
    assert found["Linear", "", "Linear"] == 1
    assert found["Net", "q", "Linear"] == 2


@pytest.mark.job(START + """
    from torch.utils.checkpoint import checkpoint
    net = Net()
    use(net)
    use(net.q)
    with region():
        y = checkpoint(net.q, x.clone().requires_grad_(), use_reentrant=True)
    y.sum().backward()
    """)
def test_a_part_that_is_called_later_keeps_its_place(report):
    assert weights(report)["Net", "q", "Linear"] == 4
    assert {site["model"] for site in report["sites"] if site["model"]} == {"Net"}


@pytest.mark.parametrize("depth", [120, 200])
@pytest.mark.job("""\
        net = torch.nn.Linear(4, 4)
        for _ in range({depth}):
            net = torch.nn.Sequential(net)
        x = torch.randn(2, 4)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            net(x)
            net(x)
        """)
def test_a_very_deep_model_keeps_line_and_path(report, depth):
    sites = [site for site in report["sites"] if site["cause"] == "autocast" and site["argument"] == "input"]
    assert sorted(site["location"]["line"] for site in sites) == [7, 8]
    assert {site["module"] for site in sites} == {".".join(["0"] * depth)}


@pytest.mark.job("""\
        import sys
        sys.setrecursionlimit(4000)
        net = torch.nn.Linear(4, 4)
        for _ in range(500):
            net = torch.nn.Sequential(net)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            net(torch.randn(2, 4))
        """)
def test_a_stack_beyond_what_is_kept_still_leads_to_the_user(report):
    sites = [site for site in report["sites"] if site["cause"] == "autocast"]
    assert {site["location"]["line"] for site in sites} == {8}
    assert {site["module"] for site in sites} == {".".join(["0"] * 500)}


@pytest.mark.job(START + """
    net = Net()
    net.layers[0].back = net
    use(net)
    """)
def test_modules_that_hold_each_other_end_somewhere(report):
    assert weights(report)["Net", "layers.0", "Linear"] == 1
