"""What counts as a right answer. A metric takes columns of the data set by their names, and the `response`."""

from promptls import MetricResult, discrete_metric


@discrete_metric(allowed_values=["right", "wrong"])
def right_word(response: str, label: str) -> MetricResult:
    """Whether the answer is the label, however it is written."""
    said = response.strip().strip(".!").lower()
    if said == label:
        return MetricResult("right")
    return MetricResult("wrong", reason=f"the answer is {said!r}, the label is {label!r}")
