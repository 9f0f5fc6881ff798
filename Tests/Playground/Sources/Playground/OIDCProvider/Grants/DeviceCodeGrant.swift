/// `urn:ietf:params:oauth:grant-type:device_code` (RFC 8628 section 3.4).
struct DeviceCodeGrant: GrantHandler {
  let codes: DeviceCodes
  let issuer: TokenIssuer

  func answer(to request: TokenRequest) throws -> TokenAnswer {
    let (grant, familyID) = try codes.poll(try request.required("device_code"), by: request.client)
    let tokens = TokenIssuer.UserTokens(
      grant: grant, familyID: familyID, scopes: grant.scopes,
      audience: try Targets.narrowed(request.form, within: grant.resources))
    return try issuer.firstAnswer(tokens, to: request)
  }
}
