// SPDX-License-Identifier: Apache-2.0

// Tables, queues and files, for which Debian has no SDK: plain requests, signed with the account's key.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"time"
)

// service is one of "Queue", "Table", "File".
type service struct {
	name, account, endpoint string
	key                     []byte
}

type headers map[string]string

// reply is what came back: outcome is "201", or "412 ConditionNotMet".
type reply struct {
	outcome, body string
	header        http.Header
}

func newService(name string) service {
	at := settings()
	key, err := base64.StdEncoding.DecodeString(at["AccountKey"])
	must(err)
	return service{name, at["AccountName"], at[name+"Endpoint"], key}
}

// resource is what the signature says the request is about: account, path, and (not of a table) the query.
func (s service) resource(target *url.URL) string {
	text := "/" + s.account + target.EscapedPath()
	query := target.Query()
	if s.name == "Table" {
		if comp := query.Get("comp"); comp != "" {
			text += "?comp=" + comp
		}
		return text
	}
	names := make([]string, 0, len(query))
	for name := range query {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		text += "\n" + strings.ToLower(name) + ":" + strings.Join(query[name], ",")
	}
	return text
}

// stringToSign is what Shared Key signs: a table's is shorter than the others'.
func (s service) stringToSign(request *http.Request, body string) string {
	if s.name == "Table" {
		return strings.Join([]string{request.Method, "", request.Header.Get("Content-Type"), request.Header.Get("x-ms-date"), s.resource(request.URL)}, "\n")
	}
	length := ""
	if body != "" {
		length = strconv.Itoa(len(body))
	}
	own := []string{}
	for name := range request.Header {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "x-ms-") {
			own = append(own, lower+":"+request.Header.Get(name))
		}
	}
	sort.Strings(own)
	fixed := []string{request.Method, "", "", length, "", request.Header.Get("Content-Type"), "", "", request.Header.Get("If-Match"), "", "", ""}
	return strings.Join(append(append(fixed, own...), s.resource(request.URL)), "\n")
}

// send does one request; what the service refuses is no error, but a reply.
func (s service) send(method, path, body string, with headers) reply {
	request, err := http.NewRequest(method, s.endpoint+path, strings.NewReader(body))
	must(err)
	request.Header.Set("x-ms-date", time.Now().UTC().Format(http.TimeFormat))
	request.Header.Set("x-ms-version", "2023-11-03")
	for name, value := range with {
		request.Header.Set(name, value)
	}
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(s.stringToSign(request, body)))
	request.Header.Set("Authorization", "SharedKey "+s.account+":"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	answer, err := http.DefaultClient.Do(request)
	must(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(err)
	outcome := strings.TrimSpace(fmt.Sprint(answer.StatusCode, " ", answer.Header.Get("x-ms-error-code")))
	return reply{outcome, string(text), answer.Header}
}
