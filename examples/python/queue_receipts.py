# SPDX-License-Identifier: Apache-2.0
"""A consumer that takes too long: its message goes to another one, and its delete is refused."""
from azure.storage.queue import QueueServiceClient

from common import CONNECTION, expect, let_pass, new_name, outcome

queue = QueueServiceClient.from_connection_string(CONNECTION).create_queue(new_name("work"))

# The problem: Ann's work takes longer than her 5 seconds.
queue.send_message("send the letter")
ann = queue.receive_message(visibility_timeout=5)
let_pass(6)
bob = queue.receive_message(visibility_timeout=30)
expect("Bob got the same message", bob.id == ann.id, True)
expect("how often it was got", bob.dequeue_count, 2)
expect("Ann's delete with her old receipt", outcome(queue.delete_message, ann), "400 PopReceiptMismatch")
expect("Bob's delete", outcome(queue.delete_message, bob), "success")

# The cure: prolong while working, and use the newest receipt.
queue.send_message("send the letter")
mine = queue.receive_message(visibility_timeout=5)
longer = queue.update_message(mine, visibility_timeout=30)
expect("another consumer finds", queue.receive_message(visibility_timeout=5), None)
expect("a delete with the old receipt", outcome(queue.delete_message, mine.id, mine.pop_receipt), "400 PopReceiptMismatch")
expect("a delete with the newest", outcome(queue.delete_message, longer.id, longer.pop_receipt), "success")
queue.delete_queue()
