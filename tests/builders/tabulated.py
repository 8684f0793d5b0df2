"""The true figures of a table whose jobs are known, beside what `tabulate` says of them."""


def true_figures(frame, place, values):
    """Yield quantity, value, group and truth: `late` crosses the jobs at these places, of incomes."""
    late, income = (frame["late"] == "yes").to_numpy(), frame["income"].to_numpy()
    for value, name in enumerate(values):
        own = place == value
        yield "share", name, None, own.mean()
        yield "share_of_group", name, "yes", own[late].mean()
        yield "share_of_value", name, "yes", late[own].mean()
        yield "mean", name, None, income[own].mean()
