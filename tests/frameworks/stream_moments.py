"""Moments of the stream behind a library's blocks, kept as its forward pass runs: of the models of
real_models.py, real_images.py and image_libraries.py."""


def of_tokens(stream):
    """Second moment of (..., tokens, width), and cross moment of two tokens."""
    x = stream.detach().double().reshape(-1, stream.shape[-1])
    tokens, width = x.shape
    square = x.square().sum().item()
    cross = x.sum(0).square().sum().item() - square
    return square / (tokens * width), cross / (tokens * (tokens - 1) * width)


def of_positions(stream):
    """Of images (count, width, height, width of the image): of two positions of one image."""
    x = stream.detach().double().flatten(2)
    count, width, tokens = x.shape
    square = x.square().sum().item()
    cross = x.sum(2).square().sum().item() - square
    return square / (count * width * tokens), cross / (count * width * tokens * (tokens - 1))


def keep_behind(block, path, moments, second, cross):
    """Adds both moments of what `block` hands on to `second` and `cross` at `path`."""

    def hook(_module, _arguments, output):
        values = moments(output[0] if isinstance(output, tuple) else output)
        second.add(path, values[0])
        cross.add(path, values[1])

    block.register_forward_hook(hook)
