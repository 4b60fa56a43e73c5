"""Lightning's Trainer with precision="bf16-mixed", training and validation."""

import lightning
import torch
import workload

workload.start()


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = workload.small_net()

    def training_step(self, batch, _):
        loss = workload.cross_entropy(self.net, batch)
        workload.say_loss(loss)
        return loss

    def validation_step(self, batch, _):
        workload.say_loss(workload.cross_entropy(self.net, batch))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


def loader():
    return torch.utils.data.DataLoader(list(workload.small_batches(6)), batch_size=None)


module = Module()
trainer = lightning.Trainer(accelerator="cpu", devices=1, precision="bf16-mixed", max_epochs=2, logger=False,
                            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
trainer.fit(module, loader(), loader())
workload.finish(module)
