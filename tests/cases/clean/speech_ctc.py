"""Speech recognition: a spectrogram and the CTC loss in float32, the network between them under autocast."""

import torch
import torch.nn.functional as F
from torch import nn


class Features(nn.Module):
    def __init__(self, n_fft=64, mels=20):
        super().__init__()
        self.n_fft = n_fft
        self.register_buffer("window", torch.hann_window(n_fft))
        self.register_buffer("filters", torch.rand(mels, n_fft // 2 + 1))

    @torch.no_grad()
    def forward(self, audio):
        with torch.autocast(audio.device.type, enabled=False):
            spectrum = torch.stft(audio.float(), self.n_fft, 32, window=self.window, return_complex=True)
            mel = (self.filters @ spectrum.abs().square()).clamp(min=1e-10).log()
            return (mel - mel.mean(dim=-1, keepdim=True)) / (mel.std(dim=-1, keepdim=True) + 1e-5)


class Recogniser(nn.Module):
    def __init__(self, mels=20, width=32, tokens=29):
        super().__init__()
        self.features = Features(mels=mels)
        self.conv = nn.Sequential(nn.Conv1d(mels, width, 3, padding=1), nn.GELU(),
                                  nn.Conv1d(width, width, 3, stride=2, padding=1), nn.GELU())
        self.layer = nn.TransformerEncoderLayer(width, 4, 64, batch_first=True)
        self.out = nn.Linear(width, tokens)

    def forward(self, audio):
        x = self.conv(self.features(audio)).transpose(1, 2)
        return self.out(self.layer(x))


model = Recogniser()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
for _ in range(4):
    audio, targets = torch.randn(3, 1600), torch.randint(1, 29, (3, 6))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(audio)
    log_probs = F.log_softmax(logits.float(), dim=-1).transpose(0, 1)
    lengths = torch.full((3,), log_probs.shape[0])
    loss = F.ctc_loss(log_probs, targets, lengths, torch.full((3,), 6), zero_infinity=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    optimizer.zero_grad()
model.eval()
with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
    model(torch.randn(1, 1600)).argmax(dim=-1).unique_consecutive()
