"""Why a finding of docs/rules.md does not come beside a PyTorch, or comes beside it alone: what scripts/matrix --rules
saw there, and the PyTorch of the tests has otherwise."""

NO_SUCH_FUNCTION = "this PyTorch does not have the function, or the setting, that the code uses"
CACHES_WITHOUT_GRAD = ("this PyTorch caches copies that were made without a graph, too: the weight is cast once, and the "
                       "copy is lost for who needs one with a graph")
DEFAULT_DTYPE_LOST = ("its torch.autocast puts the default into its argument `dtype` before castscope can look, so that "
                      "nobody knows whether one was given")
PAST_THE_DISPATCHER = ("it calls the Python code of custom operators past its dispatcher, where its own profiler does "
                       "not see them either")

# For each minor version: (reason, what it is true of), as tests/matrix/rules.py names it.
REASONS = {
    "2.15": [
        ("its compile cache takes graphs that open a region: there is nothing to find",
         ["compile-cache-bypassed", "modes_compile:c26 compile-cache-bypassed",
          "modes_compile:x17b_an_island_in_float32 compile-cache-bypassed"]),
        (PAST_THE_DISPATCHER,
         ["op-not-listed", "policy-protected-arg-cast", "errors:c42_an_attention_of_a_library op-not-listed",
          "errors:s38 op-not-listed", "errors:s38_raises op-not-listed", "policy:s42 op-not-listed",
          "policy:s42 policy-protected-arg-cast", "policy:s42_converted_back policy-protected-arg-cast"]),
    ],
}
