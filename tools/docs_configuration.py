"""Completes a part of a configuration, as the documents show it, to a whole one."""

import tomllib

# The least that each table needs. A part that has one of these keys replaces it.
STORE = {"url": '"sqlite:shop.db"'}
SOURCE = {
    "kind": '"file"',
    "path": '"payments.jsonl"',
    "format": '"json"',
    "identity": '{ id = "/event_id", source = "literal:shop", type = "/type" }',
}
CONSUMER = {"sources": '["payments"]'}
HANDLER = {
    "name": '"credit"',
    "type": '"payment.received"',
    "params": '{ amount = { at = "/amount", type = "int64" } }',
    "sql": '"UPDATE account SET balance = balance + :amount"',
}
TABLES = ("store", "source", "consumer", "handler")


def completed(part, table):
    """The whole configuration in which `part` stands in `table`."""
    if table not in TABLES:
        raise ValueError(f'"{table}" is none of {", ".join(TABLES)}')
    keys = set(tomllib.loads(part))
    defaults = {"store": STORE, "source": SOURCE, "consumer": CONSUMER, "handler": HANDLER}
    defaults = {name: dict(value) for name, value in defaults.items()}
    for key in keys:
        defaults[table].pop(key, None)
    if table == "source" and 'format = "cloudevents"' in part:
        defaults["source"].pop("identity", None)
    if table == "handler" and keys & {"params", "sql"}:
        for key in ("params", "sql"):
            defaults["handler"].pop(key, None)
    if table == "handler" and "key" in keys:
        defaults["consumer"]["scope"] = '"handler"'

    text = "config_version = 1\n"
    headers = ("[store]", "[source.payments]", "[consumer.billing]", "[[consumer.billing.handler]]")
    for name, header in zip(TABLES, headers):
        text += header + "\n"
        text += "".join(f"{key} = {value}\n" for key, value in defaults[name].items())
        text += part if name == table else ""
    return text
