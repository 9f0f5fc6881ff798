// The engine as one module, for programs that use it whole: they import AuthEngine and nothing below it.

@_exported public import AdobePass
@_exported public import Entitlements
@_exported public import OAuthClient
@_exported public import ResourceAccess
@_exported public import SDKCompatibility
@_exported public import SessionRecords
@_exported public import Sessions
@_exported public import StepUp
@_exported public import TokenValidation
