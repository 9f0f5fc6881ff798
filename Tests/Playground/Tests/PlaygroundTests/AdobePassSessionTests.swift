import PlaygroundTestSupport
import PosternJSON
import PosternSupport
import Testing

@testable import Playground

/// The double of Adobe Pass: sessions, their codes, the login page, and what is rejected.
@Suite struct AdobePassSessionTests {
  @Test("an incomplete session is resumed, then authenticated in a browser, and its code shows the profile")
  func secondScreen() async throws {
    try await Upstream.run { upstream in
      let device = try await AdobePassApplication(upstream)
      let screen = try await AdobePassApplication(upstream).on(device: "c2NyZWVu")
      let begun = try await device.post("sessions", []).json
      let code = try #require(begun["code"]?.stringValue)
      #expect(code.count == 7 && begun["actionName"] == "resume" && begun["actionType"] == "direct")
      #expect(begun["missingParameters"] == ["mvpd", "domain", "redirectUrl"])
      let now = upstream.clock.wallNow.millisecondsSinceEpoch
      #expect(begun["notAfter"] == .string(String(now + 1_800_000)))
      let part = try await screen.post("sessions/\(code)", [("mvpd", "a/b")]).json
      #expect(part["actionName"] == "retry" && part["missingParameters"] == ["domain", "redirectUrl"])
      let shown = try await screen.get("sessions/\(code)").json
      #expect(shown["existingParameters"] == ["serviceProvider": "REF30", "mvpd": "a/b"])
      #expect(shown["device"]?["model"] == "m" && shown["device"]?["browser"] == .null)
      let rest = Array(AdobePassApplication.login.dropFirst())
      let whole = try await screen.post("sessions/\(code)", rest).json
      #expect(whole["actionName"] == "authenticate" && whole["missingParameters"] == nil)
      #expect(try await device.get("profiles/code/\(code)").json["profiles"] == [:])

      let url = try #require(whole["url"]?.stringValue)
      let browser = Browser(upstream)
      let page = try #require(try await browser.get(url)["location"].first)
      let session = try #require(try await browser.get(page).hidden("session"))
      let wrong = [("session", session), ("username", "alice"), ("password", "x")]
      #expect(try await browser.post("/adobe/mvpd/login", wrong).status == 403)
      let right = [("session", session), ("username", "alice"), ("password", "alice-password")]
      let back = try await browser.post("/adobe/mvpd/login", right)
      #expect(back["location"] == ["https://example.com/done?a=1&b=2"])
      #expect(try await device.types("profiles/code/\(code)") == ["a/b": "regular"])
      #expect(try await device.types("profiles/a%2Fb") == ["a/b": "regular"])
      // The login is the device's, not the second screen's.
      #expect(try await screen.types("profiles") == [:])
      let again = try await device.post("sessions", AdobePassApplication.login.dropFirst() + [("mvpd", "a/b")]).json
      #expect(again["actionName"] == "authorize" && again["reasonType"] == "authenticated" && again["code"] == nil)
    }
  }

  @Test("a newer session ends the older, time ends a code, and an unknown code has an error of its own")
  func codes() async throws {
    try await Upstream.run { upstream in
      let device = try await AdobePassApplication(upstream)
      let first = try #require(try await device.post("sessions", []).json["code"]?.stringValue)
      let other = try await device.on(device: "b3RoZXI=").post("sessions", []).json["code"]?.stringValue ?? ""
      let second = try #require(try await device.post("sessions", []).json["code"]?.stringValue)
      #expect(try await device.get("profiles/code/\(first)").json["code"] == "invalid_authentication_session")
      #expect(try await device.get("profiles/code/\(other)").status == 200)
      #expect(try await device.get("sessions/\(second)").status == 200)
      #expect(try await device.get("sessions/UNKNOWN").json["code"] == "invalid_parameter_code")
      upstream.clock.advance(by: .seconds(1800))
      #expect(try await device.get("sessions/\(second)").json["code"] == "invalid_authentication_session")
      let page = try await upstream.send("GET", "/adobe/api/v2/authenticate/REF30/\(second)")
      #expect(page.status == 400 && page.text.contains("<html"))
    }
  }

  @Test("headers, parameters and bodies that a call does not list are rejected")
  func strictness() async throws {
    try await Upstream.run { upstream in
      let device = try await AdobePassApplication(upstream)
      let jws = AdobePassApplication.jws("user")
      for (caller, path, code) in [
        (device.with("AD-Service-Token", jws), "configuration", "invalid_header"),
        (device.with("AP-TempPass-Identity", "e30="), "profiles", "invalid_header"),
        (device.with("AP-Visitor-Identifier", "v"), "configuration", "invalid_header"),
        (device.with("AD-Service-Token", "x"), "profiles", "invalid_header"),
        (device.with("X-Forwarded-For", "192.0.2.1, 192.0.2.2"), "profiles", "invalid_header"),
        (device.with("X-Device-Info", AdobePassApplication.information), "profiles", "invalid_header"),
        (
          device.with("AP-Partner-Framework-Status", "x"), "profiles",
          "invalid_header_pfs_permission_access_not_present"
        ),
        (device, "profiles?a=b", "invalid_parameter_value"),
        (device, "profiles/unknown", "invalid_parameter_mvpd"),
        (device, "profiles/Inactive", "invalid_integration"),
        (device, "logout/Cablevision?redirectUrl=nowhere", "invalid_parameter_redirect_url"),
      ] {
        let response = try await caller.get(path)
        #expect(response.status == 400 && response.json["code"] == .string(code), "\(path) \(response.text)")
      }
      #expect(try await device.post("sessions", [("other", "x")]).json["code"] == "invalid_parameter_value")
      let twice = try await device.post("sessions", [("mvpd", "Cablevision"), ("mvpd", "ATTOTT")])
      #expect(twice.json["code"] == "invalid_parameter_value")
      #expect(try await device.post("sessions/sso/Other", []).json["code"] == "invalid_parameter_partner")
      let bare = [("Authorization", "Bearer \(device.token)")]
      let path = "/adobe/api/v2/REF30/"
      #expect(try await upstream.send("GET", path + "configuration", bare).status == 200)
      let missing = try await upstream.send("GET", path + "profiles", bare)
      #expect(missing.json["code"] == "invalid_header_device_identifier")
      let stranger = try await upstream.send("GET", path + "configuration", [("Authorization", "Bearer x")])
      #expect(stranger.status == 401 && stranger.json["action"] == "application-registration")
      #expect(try await upstream.send("DELETE", path + "profiles", bare).status == 405)
    }
  }

  @Test(
    "a redirect URL has a scheme and a path",
    arguments: [
      ("https://example.com/done", true), ("com.example.tv:/done", true), ("tv://done", true), ("example.com", false),
      ("javascript:alert(1)", false), ("https://ex ample.com", false), ("1a://x", false), ("https:/", false),
    ])
  func redirectURLs(_ text: String, _ isGood: Bool) {
    #expect(AdobePassParameters.isAbsolute(text) == isGood)
  }

  @Test("a client without the scope of this version gets 401 at every call")
  func scope() async throws {
    try await Upstream.run { upstream in
      _ = try await upstream.control("adobe", #"{"scopes":["api:client:v1"]}"#)
      let response = try await AdobePassApplication(upstream).get("configuration")
      #expect(response.status == 401 && response.json["code"] == "invalid_access_token_client_application")
    }
  }

  @Test("a partner's login: a SAML request, a profile for its response, and fallbacks without it")
  func partner() async throws {
    try await Upstream.run { upstream in
      let device = try await AdobePassApplication(upstream)
      let form = Array(AdobePassApplication.login.dropFirst())
      func begin(_ status: String?, _ form: [(String, String)]) async throws -> JSONValue {
        let caller = status.map { device.with("AP-Partner-Framework-Status", $0) } ?? device
        return try await caller.post("sessions/sso/Apple", form).json
      }
      let good = AdobePassApplication.status()
      let request = try await begin(good, form)
      #expect(request["actionName"] == "partner_profile" && request["mvpd"] == "Spectrum")
      #expect(request["authenticationRequest"]?["type"] == "saml")
      for (status, given, reason) in [
        (nil, form, "pfs_fallback"), (AdobePassApplication.status("denied"), form, "pfs_fallback"),
        (AdobePassApplication.status(until: "1"), form, "pfs_fallback"),
        (AdobePassApplication.status(provider: "partner-attott"), form, "configuration_fallback"),
        (good, [], "missing_parameters_fallback"),
      ] {
        let answer = try await begin(status, given)
        #expect(answer["reasonType"] == .string(reason) && answer["code"] != nil)
        #expect(answer["actionName"] == (given.isEmpty ? "resume" : "authenticate"))
      }
      let caller = device.with("AP-Partner-Framework-Status", good)
      let saml = "PHNhbWw+Pz8/Pj4+PC9zYW1sPg=="
      let double = PercentCoding.encode(saml)
      let rejected = try await caller.post("profiles/sso/Apple", [("SAMLResponse", double)])
      #expect(rejected.json["code"] == "invalid_parameter_saml_response")
      let created = try await caller.post("profiles/sso/Apple", [("SAMLResponse", saml)])
      #expect(created.status == 201 && created.json["profiles"]?["Spectrum"]?["issuer"] == "Apple")
      #expect(try await caller.types("profiles") == ["Spectrum": "appleSSO"])
      #expect(try await device.types("profiles") == [:])
      let stale = device.with("AP-Partner-Framework-Status", AdobePassApplication.status(until: "1"))
      #expect(try await stale.get("profiles/Spectrum").json["code"] == "invalid_header_pfs_provider_info_expired")
      #expect(
        try await device.code("authorize/Spectrum", "news") == "invalid_header_pfs_permission_access_not_present")
      #expect(try await caller.decide("authorize/Spectrum", "news").first?["authorized"] == true)
      let ended = try await device.get("logout/Spectrum").json["logouts"]?["Spectrum"]
      #expect(ended == ["actionName": "partner_logout", "actionType": "partner_interactive", "mvpd": "Spectrum"])
    }
  }
}
