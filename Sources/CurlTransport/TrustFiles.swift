/// What connections are made with, as the files hold it.
final class TrustFiles {
  let identities: IdentityFiles
  let authorities: AuthorityFiles

  init(report: CurlTransport.FileReport?) {
    identities = IdentityFiles(report: report)
    authorities = AuthorityFiles(report: report)
  }
}
