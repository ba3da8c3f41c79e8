#!/usr/bin/env python3
"""A PyTorch DataLoader with worker processes, pinned memory and non-blocking copies that has the
device scale payloads (2*x + 1, f32) and brings every result back to the host.

Says "ready" or, on one line, why it cannot run. Then answers each line "run MILLISECONDS" with one
line of JSON: items, seconds, items_per_second, gigabytes_per_second (of input), verified. Ends with
its input. To try it: echo 'run 500' | dataloader_peer.py --payload-bytes 4096 --device cpu
"""
import argparse
import collections
import json
import signal
import sys
import time


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--payload-bytes", type=int, required=True)
    parser.add_argument("--batch", type=int, default=1, help="payloads in one transfer")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--device", default="cuda", help="cuda or cpu")
    return parser.parse_args()


class Flight:
    """Batches on their way to the device and back; several at once, in order."""

    # Enough that copies in, kernels and copies out of different batches can overlap.
    DEPTH = 4

    def __init__(self, torch, device):
        self.torch = torch
        self.device = device
        self.on_gpu = device != "cpu"
        self.streams = [torch.cuda.Stream() for _ in range(self.DEPTH)] if self.on_gpu else []
        self.under_way = collections.deque()
        self.free_outputs = []
        self.sent = 0

    def send(self, batch):
        """Returns (input, output) of the oldest batch once there are enough under way, else None."""
        torch = self.torch
        if not self.on_gpu:
            self.under_way.append((batch, batch.mul(2).add_(1), None))
        else:
            # The outputs are made once and pinned, as the inputs are.
            if self.free_outputs and self.free_outputs[-1].shape == batch.shape:
                output = self.free_outputs.pop()
            else:
                output = torch.empty_like(batch, pin_memory=True)
            stream = self.streams[self.sent % self.DEPTH]
            self.sent += 1
            with torch.cuda.stream(stream):
                on_device = batch.to(self.device, non_blocking=True)
                output.copy_(on_device.mul(2).add_(1), non_blocking=True)
                event = torch.cuda.Event()
                event.record(stream)
            self.under_way.append((batch, output, event))
        return self.take() if len(self.under_way) >= self.DEPTH else None

    def take(self):
        """The oldest batch, finished."""
        batch, output, event = self.under_way.popleft()
        if event is not None:
            event.synchronize()
        return batch, output

    def give_back(self, output):
        if self.on_gpu:
            self.free_outputs.append(output)


def is_right(torch, batch, output):
    return batch.shape == output.shape and bool(torch.equal(output, batch * 2 + 1))


def run(torch, batches, flight, seconds, payload_bytes):
    items = 0
    verified = True
    start = time.perf_counter()
    last = start
    finished = None
    while last - start < seconds or items == 0:
        finished = flight.send(next(batches))
        if finished is not None:
            items += finished[0].shape[0]
            flight.give_back(finished[1])
        last = time.perf_counter()
    # The rate is of what ended within the time; every element of what is under way is checked.
    while flight.under_way:
        batch, output = flight.take()
        verified = verified and is_right(torch, batch, output)
        flight.give_back(output)
    elapsed = last - start
    return {
        "items": items,
        "seconds": elapsed,
        "items_per_second": items / elapsed,
        "gigabytes_per_second": items * payload_bytes / elapsed * 1e-9,
        "verified": verified and items > 0,
    }


def main():
    arguments = read_arguments()
    # Ending in order takes the loader's worker processes along.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        import torch
    except ImportError as error:
        print(f"no torch: {error}", flush=True)
        return 1
    on_gpu = arguments.device != "cpu"
    if on_gpu and not torch.cuda.is_available():
        print("torch sees no GPU", flush=True)
        return 1

    class Payloads(torch.utils.data.IterableDataset):
        """Payloads without end, made once a worker: loading costs nothing but handing over."""

        def __iter__(self):
            elements = arguments.payload_bytes // 4
            payloads = [
                torch.arange(elements, dtype=torch.float32).add_(i).remainder_(4093)
                for i in range(16)
            ]
            while True:
                yield from payloads

    loader = torch.utils.data.DataLoader(
        Payloads(),
        batch_size=arguments.batch,
        num_workers=arguments.workers,
        pin_memory=on_gpu,
        persistent_workers=arguments.workers > 0,
        prefetch_factor=4 if arguments.workers > 0 else None,
    )
    # The workers are forked before this process touches the GPU.
    batches = iter(loader)
    flight = Flight(torch, arguments.device)
    # The workers have started, and the first buffers are there.
    run(torch, batches, flight, 0.5, arguments.payload_bytes)
    print("ready", flush=True)
    for line in sys.stdin:
        words = line.split()
        if len(words) < 2 or words[0] != "run":
            print(f"'{line.strip()}' is no command", flush=True)
            return 1
        seconds = float(words[1]) / 1000
        print(json.dumps(run(torch, batches, flight, seconds, arguments.payload_bytes)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
