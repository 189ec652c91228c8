import math

import torch

from saccade.attention import AttentionalVector


def test_attentional_vector_is_tanh_of_context_and_state_joined():
    join = AttentionalVector(2, 1, 2)
    with torch.no_grad():
        join.join.weight.copy_(torch.tensor([[1.0, 0.0, 2.0], [0.0, -1.0, 0.5]]))
    context, state = torch.tensor([[0.3, 0.7]]), torch.tensor([[0.1]])
    wanted = torch.tensor([[math.tanh(0.3 + 0.2), math.tanh(-0.7 + 0.05)]])
    torch.testing.assert_close(join(context, state), wanted)


def test_attentional_vector_has_no_bias():
    assert [tuple(parameter.shape) for parameter in AttentionalVector(2, 3, 4).parameters()] == [(4, 5)]
