"""The autocast cache: what is cast again, and what grows. One function a case. See apart.py."""

import torch
import torch.nn.functional as F
from apart import in_threads, main, region, rows
from torch import nn


def c04():
    with region():  # finds: cache-grows
        for _ in range(100):
            nn.Linear(32, 32)(rows())


def c04_addresses_are_used_again():
    for _ in range(20):
        with region():  # finds: cache-grows
            for _ in range(40):
                nn.Linear(32, 32)(rows())


def c04n_a_list_in_two_regions():
    layers = [nn.Linear(32, 32) for _ in range(40)]
    for _ in range(3):
        with region():
            for layer in layers:
                layer(rows())
        with region(), torch.enable_grad():
            for layer in layers[:30]:
                layer(rows())


def c04n_one_step_of_training_with_a_list():
    experts = nn.ParameterList([nn.Parameter(torch.randn(32, 32)) for _ in range(24)])
    with region():
        outs = [F.linear(rows(), w) for w in experts]
    torch.stack(outs).float().mean().backward()


def c07n_weights_that_take_the_place_of_others():
    with torch.no_grad(), region(cache_enabled=False):
        for _ in range(20):
            F.linear(rows(), nn.Parameter(torch.randn(32, 32)))
    with torch.inference_mode(), region():
        for _ in range(20):
            F.linear(rows(), torch.randn(32, 32))


def c07n_written_to_past_the_version():
    model = nn.Linear(32, 32)
    with torch.no_grad(), region(cache_enabled=False):
        for _ in range(5):
            model(rows())
            model.weight.data.mul_(0.9)
            model.bias.data.add_(1)


def c04n_a_region_per_use():
    for _ in range(100):
        with region():
            nn.Linear(32, 32)(rows())


def c04n_big_model():
    model = nn.Sequential(*[nn.Linear(32, 32) for _ in range(60)])
    with region():
        for _ in range(4):
            model(rows())


def c04n_list_of_layers():
    layers = [nn.Linear(32, 32) for _ in range(40)]
    for _ in range(3):
        with region():
            for layer in layers:
                layer(rows())


def c05():
    def work():
        torch.set_autocast_enabled("cpu", True)  # finds: cache-never-cleared
        nn.Linear(32, 32)(rows())
        torch.set_autocast_enabled("cpu", False)

    in_threads(work)
    torch.clear_autocast_cache()  # by another thread, too late


def c05n_context_manager():
    def work():
        with region():
            nn.Linear(32, 32)(rows())

    for _ in range(4):
        in_threads(work, count=1)  # side by side, one's end clears what the others keep (x04)


def c06():
    model = nn.Sequential(nn.Linear(32, 32), nn.Linear(32, 32))
    with torch.no_grad(), region():
        for _ in range(6):
            model(rows())


def c07():
    model = nn.Linear(32, 32)
    with torch.inference_mode(), region():
        for _ in range(2):
            model(rows())  # finds: weight-cast-repeatedly


def c07_fast_path():
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    model = nn.TransformerEncoder(layer, 2).eval()
    with torch.no_grad(), region():
        for _ in range(3):
            model(torch.ones(2, 8, 32))  # finds: weight-cast-repeatedly


def c07n_without_fast_path():
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    model = nn.TransformerEncoder(layer, 2).eval()
    torch.backends.mha.set_fastpath_enabled(False)
    with torch.no_grad(), region():
        for _ in range(3):
            model(torch.ones(2, 8, 32))


def c07_at_two_lines():
    model = nn.Linear(32, 32)
    with torch.inference_mode(), region():
        model(rows())
        model(rows())  # finds: weight-cast-repeatedly


def c07n_no_grad():
    model = nn.Linear(32, 32)
    with torch.no_grad(), region():
        for _ in range(2):
            model(rows())


def c08():
    base, adapter = nn.Linear(32, 32).requires_grad_(False), nn.Linear(32, 32)
    with region():
        for _ in range(2):
            adapter(base(rows()))  # finds: weight-cast-repeatedly


def c08n_in_two_dtypes():
    base = nn.Linear(32, 32).requires_grad_(False)
    for _ in range(3):
        with region():
            base(rows())
            with region(torch.float16):
                base(rows())


def c08n_parts_of_another_operator():
    """F.bilinear multiplies parts of its second input: none of them is a weight."""
    layer = nn.Bilinear(32, 32, 4)
    for _ in range(3):
        with region():
            layer(rows().requires_grad_(), rows())


def c08n_once_per_region():
    base, adapter = nn.Linear(32, 32).requires_grad_(False), nn.Linear(32, 32)
    for _ in range(5):
        with region():
            loss = adapter(base(rows())).float().sum()
        loss.backward()


def c09_transposed():
    weight = nn.Parameter(torch.randn(32, 32))
    with region():
        for _ in range(3):
            rows() @ weight.t()  # finds: weight-cast-repeatedly


def c09_data():
    weight = nn.Parameter(torch.randn(32, 32))
    with region():
        for _ in range(3):
            F.linear(rows(), weight.data)  # finds: weight-cast-repeatedly


def c09_weight_norm():
    model = nn.utils.parametrizations.weight_norm(nn.Linear(32, 32))
    with region():
        for _ in range(3):
            model(rows())  # finds: weight-cast-repeatedly


def c09_functional_call():
    model = nn.Linear(32, 32)
    weights = {name: weight.detach() for name, weight in model.named_parameters()}
    with region():
        for _ in range(2):
            torch.func.functional_call(model, weights, rows())  # finds: weight-cast-repeatedly


def c09_functional_call_of_fresh_tensors():
    model = nn.Linear(32, 32)
    with region():
        for _ in range(2):
            weights = {name: weight.detach() for name, weight in model.named_parameters()}
            torch.func.functional_call(model, weights, rows())  # finds: weight-cast-repeatedly


def c09n_rows_of_a_stacked_weight():
    experts = nn.Parameter(torch.randn(8, 32, 32))
    with region():
        for expert in range(8):
            rows() @ experts[expert]
    with torch.no_grad(), region():
        for expert in range(8):
            rows() @ experts[expert]
    with torch.inference_mode(), region():
        for expert in range(8):
            F.linear(rows(), experts[expert])


def c09_rows_of_a_stacked_weight_again():
    experts = nn.Parameter(torch.randn(4, 32, 32))
    with region():
        for use in range(8):
            rows() @ experts[use % 4]  # finds: weight-cast-repeatedly


def c09n_functional_style():
    weight, bias = torch.randn(32, 32, requires_grad=True), torch.randn(32, requires_grad=True)
    with region():
        for _ in range(3):
            F.linear(rows(), weight, bias)
            rows() @ weight


def c09n_functional_call():
    model = nn.Linear(32, 32)
    with region():
        for _ in range(2):
            torch.func.functional_call(model, dict(model.named_parameters()), rows())


def c09_buffer():
    class Projection(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("matrix", torch.randn(32, 32))

        def forward(self, x):
            return x @ self.matrix  # finds: weight-cast-repeatedly

    model = Projection()
    with region():
        for _ in range(3):
            model(rows())


def c09_cache_off():
    model = nn.Linear(32, 32)
    with region(cache_enabled=False):
        for _ in range(3):
            model(rows())  # finds: weight-cast-repeatedly


def c09n_tied_embedding():
    embedding = nn.Embedding(32, 32)
    with region():
        for _ in range(3):
            F.linear(embedding(torch.tensor([1, 2])), embedding.weight)


def s01():
    model, x = nn.Linear(32, 32), rows()
    with region():
        model(x)
        model(x)


def s03():
    model = nn.Linear(32, 32)
    torch.set_autocast_enabled("cpu", True)  # finds: cache-never-cleared
    for _ in range(3):
        model(rows())


def s03n_manual_clear():
    model = nn.Linear(32, 32)
    torch.set_autocast_enabled("cpu", True)
    for _ in range(3):
        model(rows())
        torch.clear_autocast_cache()


def s04_cache_off():
    cell, h, c = nn.LSTMCell(32, 32), torch.zeros(2, 32), torch.zeros(2, 32)
    with region(cache_enabled=False):
        for _ in range(5):
            h, c = cell(rows(), (h, c))  # finds: weight-cast-repeatedly


def s04n_cache_on():
    cell, h, c = nn.LSTMCell(32, 32), torch.zeros(2, 32), torch.zeros(2, 32)
    with region():
        for _ in range(5):
            h, c = cell(rows(), (h, c))


def s05():
    # The gates' operators rather than nn.LSTM, which needs bfloat16 in oneDNN.
    cell, h = nn.GRUCell(32, 32), torch.zeros(2, 32)
    with region():
        cell(rows(), h)
        cell(rows(), h)


def s39():
    @torch.library.custom_op("cases::linear", mutates_args=())
    def linear(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return x @ weight.t()

    linear.register_autocast("cpu", torch.bfloat16)
    weight = nn.Parameter(torch.randn(32, 32))
    with region():
        for _ in range(2):
            linear(rows(), weight)  # finds: weight-cast-repeatedly


def s39n_once():
    @torch.library.custom_op("cases::once", mutates_args=())
    def linear(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return x @ weight.t()

    linear.register_autocast("cpu", torch.bfloat16)
    weight = nn.Parameter(torch.randn(32, 32))
    for _ in range(3):
        with region():
            linear(rows(), weight)


if __name__ == "__main__":
    main(globals())
