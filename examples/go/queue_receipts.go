// SPDX-License-Identifier: Apache-2.0

// A consumer that takes too long: its message goes to another one, and its delete is refused.
package main

import (
	"encoding/xml"
	"fmt"
	"net/url"
)

type message struct {
	ID      string `xml:"QueueMessage>MessageId"`
	Receipt string `xml:"QueueMessage>PopReceipt"`
}

type queue struct {
	service
	path string
}

func (q queue) put(text string) {
	q.send("POST", q.path+"/messages", "<QueueMessage><MessageText>"+text+"</MessageText></QueueMessage>", nil)
}

// get takes a message that nobody else gets for so many seconds; its ID is empty if there is none.
func (q queue) get(seconds int) (m message) {
	answer := q.send("GET", fmt.Sprintf("%s/messages?visibilitytimeout=%d", q.path, seconds), "", nil)
	must(xml.Unmarshal([]byte(answer.body), &m))
	return m
}

// one is the request about one message, with its receipt.
func (q queue) one(method string, m message, more string) reply {
	return q.send(method, q.path+"/messages/"+m.ID+"?popreceipt="+url.QueryEscape(m.Receipt)+more, "", nil)
}

func (q queue) remove(m message) string { return q.one("DELETE", m, "").outcome }

func main() {
	work := queue{newService("Queue"), "/" + newName("work")}
	expect("the queue", work.send("PUT", work.path, "", nil).outcome, "201")
	sent := 0 // what the work does: here, it sends a letter

	// The problem: Ann's work takes longer than her 5 seconds.
	work.put("send the letter")
	ann := work.get(5)
	sent++
	letPass(6)
	bob := work.get(30)
	sent++
	expect("letters sent", fmt.Sprint(sent), "2")
	expect("Ann's delete with her old receipt", work.remove(ann), "400 PopReceiptMismatch")
	expect("Bob's delete", work.remove(bob), "204")

	// The cure: prolong while working, use the newest receipt, and let the work be done once for each message.
	done := map[string]bool{}
	sendOnce := func(m message) {
		if !done[m.ID] {
			sent++
		}
		done[m.ID] = true
	}
	sent = 0
	work.put("send the letter")
	ann = work.get(5)
	newest := message{ann.ID, work.one("PUT", ann, "&visibilitytimeout=30").header.Get("x-ms-popreceipt")}
	expect("another consumer finds", work.get(5).ID, "")
	sendOnce(newest)
	sendOnce(newest) // as if it came again after a crash
	expect("letters sent", fmt.Sprint(sent), "1")
	expect("a delete with the receipt from before", work.remove(ann), "400 PopReceiptMismatch")
	expect("a delete with the newest", work.remove(newest), "204")
	work.send("DELETE", work.path, "", nil)
}
