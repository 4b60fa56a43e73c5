"""An agent is compiled from PyTorch's headers and what comes with g++. This machine may have more, so the test looks at
which headers the compiler opens."""

import agent_headers
from program import clean_environment


def test_a_compiler_and_the_wheel_are_enough(castscope, python, tmp_path):
    headers = agent_headers.headers_of_the_agent(castscope.program, python, tmp_path, clean_environment())
    assert any(header.endswith("ATen/core/dispatch/Dispatcher.h") for header in headers)
    assert agent_headers.foreign(headers) == {}
