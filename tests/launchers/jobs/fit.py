"""Lightning's Trainer, with its own precision."""

import lightning
import torch

torch.manual_seed(0)
torch.set_num_threads(1)


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Linear(8, 1))

    def training_step(self, batch, _):
        loss = self.net(batch).float().square().mean()
        print("loss", loss.item().hex(), flush=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


loader = torch.utils.data.DataLoader([torch.randn(4, 8) for _ in range(3)], batch_size=None)
trainer = lightning.Trainer(accelerator="cpu", devices=1, precision="bf16-mixed", max_epochs=2, logger=False,
                            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Module(), loader)
