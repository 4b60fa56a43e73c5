"""Proximal policy optimization: rollouts under no_grad, several passes over each, values in float32 (CleanRL)."""

import torch
from torch import nn
from torch.distributions import Categorical


class Agent(nn.Module):
    def __init__(self, observations=8, actions=4, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(observations, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.actor, self.critic = nn.Linear(width, actions), nn.Linear(width, 1)

    def forward(self, seen):
        with torch.autocast(seen.device.type, dtype=torch.bfloat16):
            hidden = self.body(seen)
            logits = self.actor(hidden)
        return Categorical(logits=logits.float()), self.critic(hidden.float()).squeeze(-1)


@torch.no_grad()
def rollout(agent, length=12, environments=4):
    state, kept = torch.randn(environments, 8), []
    for _ in range(length):
        policy, value = agent(state)
        action = policy.sample()
        reward = (action == state[:, :4].argmax(dim=-1)).float()
        kept.append((state, action, policy.log_prob(action), value, reward))
        state = torch.randn(environments, 8)
    states, actions, logs, values, rewards = map(torch.stack, zip(*kept, strict=True))
    advantage, last = torch.zeros_like(rewards), torch.zeros(environments)
    for t in reversed(range(length - 1)):
        last = rewards[t] + 0.99 * values[t + 1] - values[t] + 0.99 * 0.95 * last
        advantage[t] = last
    return [x.flatten(0, 1) for x in (states, actions, logs, advantage, advantage + values)]


agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-4, eps=1e-5)
for _ in range(3):
    states, actions, old, advantages, returns = rollout(agent)
    for _ in range(2):
        for rows in torch.randperm(len(states)).split(16):
            policy, value = agent(states[rows])
            ratio = (policy.log_prob(actions[rows]) - old[rows]).exp()
            gain = advantages[rows]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            surrogate = torch.minimum(gain * ratio, gain * ratio.clamp(0.8, 1.2)).mean()
            loss = -surrogate - 0.01 * policy.entropy().mean() + 0.25 * (value - returns[rows]).square().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
